"""The HTTP client of webhooks, loaded when the first one is called: it takes a third of the server's time to start."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from kapstan.apiserver.admission.webhook.client import MAX_ANSWER, CallFailed, Target
from kapstan.machinery.golang import quote

__all__ = ("Reply", "Transport")

_HEADERS = {
    "User-Agent": "kube-apiserver-admission",
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
}


class Reply(NamedTuple):
    """What a webhook answered."""

    status: int
    content_type: str
    data: bytes  # at most one byte more than is allowed


class Transport:
    """Connections to webhooks, kept open between calls."""

    def __init__(self) -> None:
        connector = aiohttp.TCPConnector(limit=0)  # one slow webhook must not keep the others waiting
        timeout = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(connector=connector, headers=_HEADERS, timeout=timeout)

    async def post(self, target: Target, body: bytes, context: ssl.SSLContext, *, timeout: int) -> Reply:
        """Send a document; CallFailed, in the words of Go's client, if there is no answer in time."""
        try:
            async with asyncio.timeout(timeout):
                return await self._post_again(target, body, context)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # TimeoutError is an OSError
            raise CallFailed(f"Post {quote(target.shown)}: {_explained(error, target)}") from error

    async def close(self) -> None:
        await self._session.close()

    async def _post_again(self, target: Target, body: bytes, context: ssl.SSLContext) -> Reply:
        """A connection that was kept open may have been closed at the other end: once, that is no failure."""
        try:
            return await self._post(target, body, context)
        except (aiohttp.ServerDisconnectedError, ConnectionError):
            return await self._post(target, body, context)

    async def _post(self, target: Target, body: bytes, context: ssl.SSLContext) -> Reply:
        headers = {"Host": urlsplit(target.shown).netloc} if target.server_name else {}
        async with self._session.post(
            target.url, data=body, headers=headers, ssl=context, server_hostname=target.server_name
        ) as response:
            data = await response.content.read(MAX_ANSWER + 1)
            return Reply(response.status, response.headers.get("Content-Type", ""), data)


def _explained(error: BaseException, target: Target) -> str:
    """The failure as Go's client tells it."""
    explain: list[tuple[type[BaseException], Callable[[Any, Target], str]]] = [
        (TimeoutError, lambda _, __: "context deadline exceeded"),
        (aiohttp.ClientConnectorCertificateError, _certificate_problem),
        (aiohttp.ClientConnectorDNSError, lambda _, at: f"dial tcp: lookup {at.host}: no such host"),
        (aiohttp.ClientConnectorError, _connection_problem),
        (aiohttp.ServerDisconnectedError, lambda _, __: "EOF"),
    ]
    for kind, words in explain:
        if isinstance(error, kind):
            return words(error, target)
    return str(error) or type(error).__name__


def _certificate_problem(error: aiohttp.ClientConnectorCertificateError, target: Target) -> str:
    inner = error.certificate_error
    name = target.server_name or target.host
    message = getattr(inner, "verify_message", "") or str(inner)
    if "ismatch" in message:
        why = f"certificate is not valid for {name}"
    elif "expired" in message or "not yet valid" in message:
        why = "certificate has expired or is not yet valid"
    else:
        why = "certificate signed by unknown authority"
    return f"tls: failed to verify certificate: x509: {why}"


def _connection_problem(error: aiohttp.ClientConnectorError, target: Target) -> str:
    at = f"dial tcp {target.host}:{target.port}"
    if error.os_error.errno == errno.ECONNREFUSED:
        return f"{at}: connect: connection refused"
    if isinstance(error.os_error, ssl.SSLError):
        return f"tls: {error.os_error.reason or error.os_error}"
    return f"{at}: connect: {error.os_error.strerror or error.os_error}"
