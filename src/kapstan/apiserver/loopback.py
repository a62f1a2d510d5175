"""Loopback: requests from the process in which the server lives, without a socket, TLS or HTTP between the two.

Who asks is proved all the same. A client that would have sent a certificate hands over what it has, and is admitted if
the certificate is one of this cluster's and the key is its own; from there on a request goes the way of any other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from kapstan.apiserver.http.front import answer_headers, new_handle
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse
from kapstan.apiserver.http.wire import Headers
from kapstan.apiserver.registry.errors import too_large

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.registry.watch import Watch

__all__ = ("Answer", "Loopback", "Visitor")

Data: TypeAlias = bytes  # which the method of that name hides

_UNREAD = 64 << 10  # bytes of a watch that may wait to be read before it is paused


class Loopback:
    """A cluster, as clients of its own process reach it."""

    def __init__(self, cluster: LogicalCluster) -> None:
        self._cluster = cluster
        self._loop = asyncio.get_running_loop()
        self._admitted: dict[tuple[bytes, bytes], Visitor] = {}

    def admit(self, authority: bytes, identity: bytes) -> Visitor | None:
        """Somebody who trusts this certificate authority, and has this certificate and key or none (PEM).

        None if one of us would not accept the other, or who asks is in another thread.
        """
        if asyncio.get_running_loop() is not self._loop:
            return None
        known = self._admitted.get((authority, identity))
        if known is not None and known.valid:
            return known
        ca = self._cluster.credentials.ca.cert_pem
        if ca.strip() not in authority:
            return None
        visitor = _visitor(self._cluster, ca, identity)
        if visitor is not None:
            self._admitted[authority, identity] = visitor
        return visitor


class Visitor:
    """A client that was admitted."""

    def __init__(
        self, cluster: LogicalCluster, certificate: bytes | None = None, until: datetime | None = None
    ) -> None:
        self._cluster = cluster
        self._handle = new_handle(cluster)
        self._certificate = certificate
        self._until = until

    @property
    def valid(self) -> bool:
        return self._until is None or datetime.now(UTC) < self._until

    async def ask(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Answer:
        """What a server would answer to a request with this path and query."""
        await asyncio.sleep(0)  # nobody may keep the event loop to themselves by asking again and again

        async def read(limit: int) -> bytes:
            if len(body) > limit:
                raise too_large(f"limit is {limit}")
            return body

        path, _, query = target.partition("?")
        request = HTTPRequest(method, unquote(path), query, Headers(headers), read, self._certificate, "127.0.0.1")
        answer = await self._handle(request)
        return Answer(self._cluster, Headers(answer_headers(request, answer)), answer)


class Answer:
    """An answer: its body whole, or piece by piece as it comes."""

    def __init__(self, cluster: LogicalCluster, headers: Headers, answer: Response | WatchResponse) -> None:
        self._headers = headers
        self._pieces = _Pieces()
        self._watching: asyncio.Task[None] | None = None
        if isinstance(answer, WatchResponse):
            self.status = 200
            self._watching = cluster.spawn(self._pieces.fill(answer.watch))
        else:
            self.status = answer.status
            self._pieces.write(answer.body)
            self._pieces.end()

    def get_header(self, name: str) -> str | None:
        return self._headers.get(name) or None

    def get_header_all(self, name: str) -> list[str]:
        return [value for known, value in self._headers.items() if known.lower() == name]

    async def bytes(self) -> Data:
        """The whole body."""
        return b"".join([piece async for piece in self._pieces])

    async def read(self) -> Data | None:
        """More of the body; None when there is no more."""
        return await anext(self._pieces, None)

    def close(self) -> None:
        """Take no more."""
        if self._watching is not None:
            self._watching.cancel()


class _Pieces:
    """Where a watch writes, and its client reads."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()

    async def fill(self, watch: Watch) -> None:
        try:
            await watch.run(self)
        finally:
            self.end()

    @property
    def ready(self) -> bool:
        return self._size < _UNREAD

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._changed.set()

    async def send(self, data: bytes) -> None:
        self.write(data)
        while not self.ready:
            self._room.clear()
            await self._room.wait()

    def abort(self) -> None:
        self.end()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> bytes:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        data = b"".join(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
        self._waiting.clear()
        self._size = 0
        self._room.set()
        return data


def _visitor(cluster: LogicalCluster, ca: bytes, identity: bytes) -> Visitor | None:
    """Somebody with this certificate and key, if TLS would let them in; the checks are OpenSSL's."""
    if not identity:
        return Visitor(cluster)
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    try:
        certificate = x509.load_pem_x509_certificate(identity)
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        public = load_pem_private_key(identity[identity.rindex(b"-----BEGIN") :], None).public_key()
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return None
    der = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if public.public_bytes(*der) != certificate.public_key().public_bytes(*der):
        return None
    now = datetime.now(UTC)
    in_time = certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
    if not in_time or x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH not in usages:
        return None
    return Visitor(cluster, certificate.public_bytes(Encoding.DER), certificate.not_valid_after_utc)
