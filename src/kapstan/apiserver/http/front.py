"""The HTTP front: aiohttp's server below, our handler above. Nothing else in the package knows aiohttp's server.

Its low-level server is used, without routing and middleware. Watches write to the transport directly: what one
client does not take is bounded, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from urllib.parse import unquote

from aiohttp import web
from multidict import CIMultiDict

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.http.handler import handle
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse
from kapstan.apiserver.registry.errors import too_large
from kapstan.machinery.errors import BadRequest, Timeout

__all__ = ("access_log", "new_front")

access_log = logging.getLogger("kapstan.apiserver.access")

_READ_TIMEOUT = 30.0  # seconds between two pieces of a body
_WATCH_BUFFER = 8 << 20  # bytes that a watcher may be behind


def new_front(cluster: LogicalCluster) -> web.Server:
    """Makes the protocol of each connection to a cluster."""

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        return await _serve(cluster, request)

    return web.Server(serve, handler_cancellation=True, access_log=None, lingering_time=1.0, auto_decompress=False)


async def _serve(cluster: LogicalCluster, request: web.BaseRequest) -> web.StreamResponse:
    started = time.perf_counter()
    answer = await handle(cluster, _received(request))
    try:
        if isinstance(answer, WatchResponse):
            return await _stream(request, answer)
        return _response(request, answer)
    finally:
        if access_log.isEnabledFor(logging.INFO):
            _log(request, answer, time.perf_counter() - started)


def _received(request: web.BaseRequest) -> HTTPRequest:
    path, _, query = request.raw_path.partition("?")
    transport = request.transport
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    return HTTPRequest(
        request.method,
        unquote(path) if "%" in path else path,
        query,
        request.headers,
        lambda limit: _read(request, limit),
        tls.getpeercert(binary_form=True) if tls is not None else None,
        request.remote or "",
    )


async def _read(request: web.BaseRequest, limit: int) -> bytes:
    """The whole body, if it is not too large and does not take for ever."""
    if not request.body_exists:
        return b""
    if request.content_length is not None and request.content_length > limit:
        raise too_large(f"limit is {limit}")
    chunks: list[bytes] = []
    size = 0
    content = request.content
    while not content.at_eof():
        try:
            async with asyncio.timeout(_READ_TIMEOUT):
                chunk = await content.readany()
        except TimeoutError:
            raise Timeout("Timeout: the body of the request did not arrive in time") from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise BadRequest(f"the body of the request could not be read: {error}") from error
        size += len(chunk)
        if size > limit:
            raise too_large(f"limit is {limit}")
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _headers(answer: Response | WatchResponse) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict()
    headers["Audit-Id"] = str(uuid.uuid4())
    headers["Cache-Control"] = "no-cache, private"
    headers["Content-Type"] = answer.content_type
    headers["Server"] = "kapstan"
    if isinstance(answer, Response):
        headers.update(answer.headers)
    for text in dict.fromkeys(answer.warnings):
        headers.add("Warning", f"299 - {_quoted(text)}")
    return headers


def _quoted(text: str) -> str:
    """A warning's text as a header may carry it."""
    text = "".join(char if char.isprintable() else " " for char in text)
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _response(request: web.BaseRequest, answer: Response) -> web.Response:
    body = b"" if request.method == "HEAD" else answer.body
    return web.Response(status=answer.status, body=body, headers=_headers(answer))


async def _stream(request: web.BaseRequest, answer: WatchResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers=_headers(answer))
    response.enable_chunked_encoding()
    await response.prepare(request)
    request.writer.send_headers()
    transport = request.transport
    if transport is not None:
        await answer.watch.run(_TransportSink(transport, request))
        if transport.get_write_buffer_size() > _WATCH_BUFFER:
            transport.abort()  # it would not take the end of the stream either
    return response


class _TransportSink:
    """Writes chunks to a connection, past aiohttp's writer, which would cost a task switch each."""

    def __init__(self, transport: asyncio.Transport, request: web.BaseRequest) -> None:
        self._transport = transport
        self._request = request

    def write(self, data: bytes) -> bool:
        transport = self._transport
        if transport.is_closing():
            return False
        transport.write(b"%x\r\n%s\r\n" % (len(data), data))
        return transport.get_write_buffer_size() <= _WATCH_BUFFER

    async def drain(self) -> None:
        await self._request.writer.drain()


def _log(request: web.BaseRequest, answer: Response | WatchResponse, seconds: float) -> None:
    watch = isinstance(answer, WatchResponse)
    status, size = (200, "-") if isinstance(answer, WatchResponse) else (answer.status, str(len(answer.body)))
    access_log.info(
        "%s %s %s %s %.1fms %s%s",
        request.method,
        request.raw_path,
        status,
        size,
        seconds * 1000,
        request.headers.get("User-Agent", "-"),
        " (watch)" if watch else "",
    )
