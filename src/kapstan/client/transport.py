"""Transport: requests in, answers out. Authentication, repetition and the wording of errors happen here.

Nothing above knows the HTTP library; nothing here knows kinds or objects. An answer below 300 is returned; any other is
raised as the APIError that its Status stands for, and no answer at all as ConnectionFailed.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import sys
import time
import weakref
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import msgspec
from pyreqwest.client import Client as Http
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.request import RequestBuilder, StreamRequest
from pyreqwest.response import Response as HttpResponse

from kapstan.client import loopback
from kapstan.client.cancellation import heeding
from kapstan.client.config import Config
from kapstan.client.connections import Connections, Lane
from kapstan.client.credentials import Credential, CredentialSource, credentials_of
from kapstan.client.failures import explain
from kapstan.client.limiter import RateLimiter
from kapstan.client.retry import Retries, RetryPolicy
from kapstan.client.stream import Stream
from kapstan.client.warnings import WarningLog
from kapstan.machinery.codec import decode
from kapstan.machinery.errors import APIError, ConnectionFailed, from_status
from kapstan.machinery.meta import Status
from kapstan.version import __version__

__all__ = ("Observer", "Request", "Response", "Transport", "program_name", "user_agent")

logger = logging.getLogger("kapstan.client")

# Called after each attempt with method, host, status code ("<error>" if there was no answer) and seconds.
Observer: TypeAlias = Callable[[str, str, str, float], None]


class Request(msgspec.Struct, kw_only=True):
    """What is asked of the server."""

    method: str
    path: str  # absolute, with its query
    what: str = ""  # what is being done, for errors: "get Pod default/web"
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    timeout: float | None = None  # seconds; None: what the config says
    idempotent: bool = False  # carried out twice, it changes nothing more
    retry: bool = True


_Answer: TypeAlias = HttpResponse | loopback.Answer


class Response:
    """An answer, read to its end."""

    __slots__ = ("_answer", "body", "status")

    def __init__(self, answer: _Answer, body: memoryview) -> None:
        self.status = answer.status
        self.body = body
        self._answer = answer

    def header(self, name: str) -> str:
        return self._answer.get_header(name) or ""


class Transport:
    """Talks to one API server."""

    def __init__(
        self,
        config: Config,
        *,
        observer: Observer | None = None,
        policy: RetryPolicy | None = None,
        credentials: CredentialSource | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.config = config
        self.observer = observer
        self._policy = policy or RetryPolicy()
        self._credentials = credentials or credentials_of(config)
        self._sleep = sleep
        self._headers = _fixed_headers(config)
        self._connections = Connections(config, self._headers)
        self._base = self._connections.endpoint.base
        self._host = self._connections.endpoint.authority
        self._timeout = timedelta(seconds=config.timeout)
        self._limiter = RateLimiter(config.qps, config.burst) if config.qps > 0 else None
        self.warnings = WarningLog()
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()

    async def send(self, request: Request) -> Response:
        """Ask, and wait for the whole answer."""

        async def once(credential: Credential) -> _Answer:
            visitor = self._connections.loopback(credential.identity)
            if visitor is not None:
                return await self._ask(visitor, request, credential)
            http = await self._connections.requests(credential.identity)
            builder = self._builder(http, request, credential)
            timeout = self._timeout if request.timeout is None else timedelta(seconds=request.timeout)
            with heeding():
                return await builder.timeout(timeout).build().send()

        answer = await self._exchange(request, once)
        with heeding():
            return Response(answer, memoryview(await answer.bytes()))

    async def open(self, request: Request) -> Stream:
        """Ask for an answer that goes on; it is there as soon as the server begins it."""
        opened: list[Stream] = []

        async def once(credential: Credential) -> _Answer:
            await _close(opened)  # one that was refused, or came too late
            visitor = self._connections.loopback(credential.identity)
            if visitor is not None:
                asked = await self._ask(visitor, request, credential)
                opened.append(self._loopback_stream(asked, request))
                return asked
            lane = await self._connections.lane(credential.identity)
            streamed = self._builder(lane.http, request, credential).streamed_read_buffer_limit(0).build_streamed()
            try:
                async with asyncio.timeout(self.config.timeout if request.timeout is None else request.timeout):
                    with heeding():
                        answer = await streamed.__aenter__()
                        opened.append(self._stream(answer, streamed, lane, request))  # also if we shall end
            except BaseException:
                if not opened:
                    lane.leave()
                raise
            return answer

        try:
            await self._exchange(request, once)
        except BaseException:
            await _close(opened)
            raise
        self._streams.add(opened[0])
        return opened[0]

    async def close(self) -> None:
        """End everything: streams end, and requests that are under way fail."""
        with heeding():
            await _close(list(self._streams))
            await self._connections.close()

    async def _exchange(self, request: Request, once: Callable[[Credential], Awaitable[_Answer]]) -> _Answer:
        retries: Retries | None = None
        renewed = False
        while True:
            credential = self._credentials.cached() or await self._credentials.renew()
            if self._limiter is not None:
                await self._limiter.take()
            started = time.perf_counter()
            try:
                answer = await once(credential)
            except (PyreqwestError, TimeoutError) as error:
                self._observe(request, "<error>", started)
                retries = retries or Retries(self._policy)
                await self._after_failure(error, request, retries)
                continue
            self._observe(request, str(answer.status), started)
            if warnings := answer.get_header_all("warning"):
                self.warnings.hear(warnings)
            if answer.status < 300:
                return answer
            if answer.status == 401 and not renewed:
                renewed = True
                if await self._credentials.renew(credential) != credential:
                    continue
            retries = retries or Retries(self._policy)
            await self._after_refusal(answer, request, retries)

    async def _after_failure(self, error: Exception, request: Request, retries: Retries) -> None:
        """Wait before the next attempt, or say why there will be none."""
        failure = explain(error, timeout=self.config.timeout if request.timeout is None else request.timeout)
        delay = retries.after_failure(failure, idempotent=request.idempotent) if request.retry else None
        if delay is None:
            raise ConnectionFailed(f"{_prefix(request)}no answer from {self.config.server}: {failure.why}") from None
        logger.debug("%sno answer from %s, trying again: %s", _prefix(request), self.config.server, failure.why)
        self._connections.forget_address()
        await self._sleep(delay)

    async def _after_refusal(self, answer: _Answer, request: Request, retries: Retries) -> None:
        """Wait as long as the server asks us to, or raise its refusal."""
        asked = answer.get_header("retry-after")
        delay = None
        if asked and request.retry:
            delay = retries.after_refusal(answer.status, asked, idempotent=request.idempotent)
        if delay is None:
            raise await _refusal(answer, request)
        logger.debug("%sthe server answers %d, waiting %.1f s", _prefix(request), answer.status, delay)
        await self._sleep(delay)

    async def _ask(self, visitor: loopback.Visitor, request: Request, credential: Credential) -> loopback.Answer:
        """Ask a server of this process."""
        headers = [*self._headers, ("accept", request.accept)]
        if credential.authorization:
            headers.append(("authorization", credential.authorization))
        if request.body is not None:
            headers.append(("content-type", request.content_type))
        async with asyncio.timeout(self.config.timeout if request.timeout is None else request.timeout):
            return await visitor.ask(request.method, request.path, headers, request.body or b"")

    def _builder(self, http: Http, request: Request, credential: Credential) -> RequestBuilder:
        builder = http.request(request.method, self._base + request.path).header("accept", request.accept)
        if credential.authorization:
            builder = builder.header("authorization", credential.authorization, is_sensitive=True)
        if request.body is not None:
            builder = builder.header("content-type", request.content_type).body_bytes(request.body)
        return builder

    def _stream(self, answer: HttpResponse, streamed: StreamRequest, lane: Lane, request: Request) -> Stream:
        async def read() -> bytes | None:
            chunk = await answer.body_reader.read_chunk()
            return chunk.to_bytes() if chunk is not None else None

        async def end() -> None:
            await streamed.__aexit__(None, None, None)

        return Stream(read, end, release=lane.leave, what=request.what, server=self.config.server)

    def _loopback_stream(self, answer: loopback.Answer, request: Request) -> Stream:
        async def end() -> None:
            answer.close()

        return Stream(answer.read, end, release=answer.close, what=request.what, server=self.config.server)

    def _observe(self, request: Request, code: str, started: float) -> None:
        if self.observer is not None:
            self.observer(request.method, self._host, code, time.perf_counter() - started)


def user_agent(program: str = "", version: str = "") -> str:
    """`<program>/<version> (<os>/<arch>) kapstan/<version>`. A server takes the first word for the field manager."""
    program = program or program_name()
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{program}/{version or 'v0.0.0'} ({sys.platform}/{arch}) kapstan/{__version__}"


def program_name() -> str:
    """What runs: the script, or the package that `python -m` was given."""
    path = Path(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else Path("python")
    return path.parent.name if path.name == "__main__.py" else path.name.removesuffix(".py")


def _fixed_headers(config: Config) -> list[tuple[str, str]]:
    headers = [("user-agent", config.user_agent or user_agent())]
    if (who := config.impersonate) is not None:
        headers.append(("impersonate-user", who.user))
        if who.uid:
            headers.append(("impersonate-uid", who.uid))
        headers += [("impersonate-group", group) for group in who.groups]
        headers += [
            (f"impersonate-extra-{_escaped(key)}", value) for key, values in who.extra.items() for value in values
        ]
    return headers


def _escaped(key: str) -> str:
    """A key as part of a header's name: what may not stand there is percent-encoded."""
    return quote(key, safe="!#$&'*+^`|")


async def _close(streams: list[Stream]) -> None:
    while streams:
        await streams.pop().close()


def _prefix(request: Request) -> str:
    return f"{request.what}: " if request.what else ""


class _StatusError(msgspec.Struct):
    """An error of Go as JSON, which the simulated clusters of Cluster API send in place of the Status in it."""

    status: Status | None = msgspec.field(name="ErrStatus", default=None)


def _status_in(body: memoryview) -> Status:
    found = decode(body, Status)
    return found if found.status else decode(body, _StatusError).status or found


async def _refusal(answer: _Answer, request: Request) -> APIError:
    try:
        with heeding():
            body = memoryview(await answer.bytes())
        status = _status_in(body)
    except PyreqwestError:  # cut while it explained itself
        body, status = memoryview(b""), Status()
    except msgspec.DecodeError:
        status = Status()
    if status.status != "Failure":  # a proxy, or a path that no API serves
        text = bytes(body[:512]).decode(errors="replace").strip()
        status = Status(status="Failure", code=answer.status, message=text or f"HTTP {answer.status}")
    status.code = status.code or answer.status
    return from_status(status, request.what)
