"""Connection: one client's connection, from its first byte to its last.

It runs in one task: read a request, let the handler answer, write, again. What a client sends is bounded, and so is the
time it takes for it; what it does not take is bounded for watches, and awaited for everything else. When it goes
away, whatever runs on its behalf is cancelled; a write that was handed to storage is done all the same.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import cast

from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse
from kapstan.apiserver.http.wire import MAX_HEAD, BadHead, ChunkedBody, Head, parse_head, response_head
from kapstan.apiserver.registry.errors import too_large
from kapstan.machinery.errors import BadRequest, Timeout

__all__ = ("Connection", "Handle")

Handle = Callable[[HTTPRequest], Awaitable[Response | WatchResponse]]
Finish = Callable[[HTTPRequest, Response | WatchResponse], list[tuple[str, str]]]

_IDLE = 90.0  # seconds between two requests
_HEAD_TIMEOUT = 32.0
_BODY_TIMEOUT = 30.0  # without any progress
_UNREAD = 4 << 20  # bytes that may wait to be read before the client is paused
_UNSENT = 64 << 10  # bytes that may wait to be sent before whoever writes more is paused
_SLICE = 64 << 10  # bytes of a watch that are written at once
_DISCARDED = 1 << 20  # bytes of a body that nobody wanted, read to keep the connection


class Connection(asyncio.Protocol):
    """Serves requests one after the other."""

    def __init__(self, handle: Handle, headers: Finish) -> None:
        self._handle = handle
        self._headers = headers
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._more: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._paused = self._finished = self._serving = False
        self._lost = asyncio.Event()
        self._certificate: bytes | None = None
        self._remote = ""

    # What the transport calls -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(_UNSENT)
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        self._certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        peer = transport.get_extra_info("peername")
        self._remote = peer[0] if peer else ""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _UNREAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        _wake(self._more)

    def eof_received(self) -> bool:
        """A client that says nothing more may still be listening, but no API client does that."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._finished = True
        self._transport = None
        self._lost.set()
        _wake(self._more)
        _wake(self._room)
        if self._serving and self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        _wake(self._room)
        self._room = None

    # Serving ----------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Answer requests until the client has no more."""
        self._task = asyncio.current_task()
        try:
            while not self._finished and await self._serve_one():
                pass
            await self._say_goodbye()
        except (TimeoutError, ConnectionError):
            pass
        except asyncio.CancelledError:
            if not self._finished:  # not because the client went away: somebody wants an end
                raise
        finally:
            # The transport must be gone before we are: nobody else would end it when the server does.
            if self._transport is not None:
                self._transport.abort()
                await self._lost.wait()

    async def _say_goodbye(self) -> None:
        """Send what is left, and wait for the client to hang up, too."""
        if self._transport is not None:
            self._transport.close()
            await self._lost.wait()

    async def _serve_one(self) -> bool:
        """Whether another request may follow."""
        try:
            head = await self._read_head()
        except BadHead as error:
            self._refuse(error)
            return False
        if head is None:
            return False
        body = _Body(self, head)
        request = HTTPRequest(
            head.method, head.path, head.query, head.headers, body.read, self._certificate, self._remote
        )
        self._serving = True
        try:
            answer = await self._handle(request)
            keep = head.keep_alive and await body.discard()
            await self._answer(head, request, answer, keep)
        finally:
            self._serving = False
        return keep

    async def _read_head(self) -> Head | None:
        """The next request's head; None if the client is done."""
        searched = 0
        while True:
            buffer = self._buffer
            end = buffer.find(b"\r\n\r\n", max(0, searched - 3))
            if end >= 0:
                head = parse_head(bytes(buffer[:end]))
                del buffer[: end + 4]
                return head
            searched = len(buffer)
            if searched > MAX_HEAD:
                raise BadHead("the head of the request is too large", 431)
            if self._finished:
                return None
            await self.wait_for_data(_HEAD_TIMEOUT if searched else _IDLE)

    async def wait_for_data(self, seconds: float) -> None:
        """Return when there is more to read, or the client is gone; TimeoutError if neither happens."""
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        self._more = self._loop.create_future()
        timer = self._loop.call_later(seconds, _expire, self._more)
        try:
            await self._more
        finally:
            timer.cancel()
            self._more = None

    @property
    def buffer(self) -> bytearray:
        return self._buffer

    @property
    def finished(self) -> bool:
        return self._finished

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _refuse(self, error: BadHead) -> None:
        body = f"{error}\n".encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        self.write(response_head(error.status, headers, keep_alive=False) + body)

    async def _answer(self, head: Head, request: HTTPRequest, answer: Response | WatchResponse, keep: bool) -> None:
        headers = self._headers(request, answer)
        if isinstance(answer, WatchResponse):
            headers.append(("Transfer-Encoding", "chunked"))
            self.write(response_head(200, headers, keep_alive=keep))
            await answer.watch.run(_WatchSink(self))
            self.write(b"0\r\n\r\n")
            return
        headers.append(("Content-Length", str(len(answer.body))))
        data = response_head(answer.status, headers, keep_alive=keep)
        bodiless = head.method == "HEAD" or answer.status in (204, 304)
        self.write(data if bodiless else data + answer.body)
        await self.drain()

    @property
    def ready(self) -> bool:
        """Whether the client has taken enough of what was written."""
        return self._room is None

    async def drain(self) -> None:
        """Return when that is so."""
        if self._room is not None:
            await self._room

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _Body:
    """The body of one request, read when somebody wants it."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self._connection = connection
        self._head = head
        self._read = not head.chunked and not head.length

    async def read(self, limit: int) -> bytes:
        """All of it; refused if it is larger than the limit or takes for ever."""
        if self._read:
            return b""
        if self._head.length > limit:
            raise too_large(f"limit is {limit}")
        if self._head.headers.get("Expect").lower() == "100-continue":
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            body = await (self._chunked(limit) if self._head.chunked else self._sized())
        except BadHead as error:
            if error.status == 413:
                raise too_large(f"limit is {limit}") from None
            raise BadRequest(f"the body of the request cannot be read: {error}") from error
        except TimeoutError:
            raise Timeout("Timeout: the body of the request did not arrive in time") from None
        self._read = True
        return body

    async def _sized(self) -> bytes:
        buffer, length = self._connection.buffer, self._head.length
        while len(buffer) < length:
            await self._more()
        body = bytes(buffer[:length])
        del buffer[:length]
        return body

    async def _chunked(self, limit: int) -> bytes:
        reader = ChunkedBody()
        while (body := reader.feed(self._connection.buffer, limit)) is None:
            await self._more()
        return body

    async def _more(self) -> None:
        if self._connection.finished:
            raise BadHead("it ended early")
        await self._connection.wait_for_data(_BODY_TIMEOUT)

    async def discard(self) -> bool:
        """Whether the connection can be used again: what nobody read of the body is out of the way, if it is little."""
        if self._read:
            return True
        if self._head.chunked or self._head.length > _DISCARDED:
            return False
        try:
            await self._sized()
        except (BadHead, TimeoutError):
            return False
        return True


class _WatchSink:
    """Where a watch writes: chunks, straight to the transport."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def ready(self) -> bool:
        return self._connection.ready

    def write(self, data: bytes) -> None:
        self._connection.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _SLICE):
            self.write(data[start : start + _SLICE])
            await self._connection.drain()

    def abort(self) -> None:
        self._connection.abort()


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _expire(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())
