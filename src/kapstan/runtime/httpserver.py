"""A small HTTP/1.1 server for what a manager answers itself: probes and metrics.

GET and HEAD without bodies, keep-alive, TLS. The webhook server is a real one; this is not, because importing one
costs 16 MB and a quarter of a second, which a small operator would pay for two pages of text.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import parse_qs, unquote

import msgspec

from kapstan.machinery.errors import ConfigError

__all__ = ("Answer", "HTTPServer", "Query", "bind_address")

log = logging.getLogger(__name__)

HEAD_LIMIT = 16 * 1024
IDLE = 60.0


class Query(msgspec.Struct, frozen=True):
    """A request."""

    path: str
    parameters: Mapping[str, list[str]]
    headers: Mapping[str, str]  # names in lower case


class Answer(msgspec.Struct, frozen=True):
    """What is answered."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = {}


Handler: TypeAlias = Callable[[Query], Awaitable[Answer]]

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}


def bind_address(text: str) -> tuple[str, int] | None:
    """Host and port of `:8081`, `127.0.0.1:0` or `[::1]:80`; None of `0` or nothing, which is off."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"{text!r} is no address to listen on: expected host:port or :port, or 0 for none")
    return host.removeprefix("[").removesuffix("]"), int(port)


class HTTPServer:
    """Serves one handler on one address."""

    def __init__(self, address: tuple[str, int], handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self._host, self._port = address
        self._handler, self._tls = handler, tls
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """Where it listens, also if that was left to the system."""
        if self._server is not None and self._server.sockets:
            return int(self._server.sockets[0].getsockname()[1])
        return self._port

    async def start(self) -> None:
        """Listen; ConfigError if that is not possible."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._host or None, self._port, ssl=self._tls, limit=HEAD_LIMIT
            )
        except OSError as error:
            raise ConfigError(f"cannot listen on {self._host}:{self._port}: {error.strerror or error}") from error

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in list(self._connections):
                writer.transport.abort()

    async def run(self) -> None:
        """Serve until cancelled."""
        if self._server is None:
            await self.start()
        try:
            await asyncio.Event().wait()
        finally:
            await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            while await self._exchange(reader, writer):
                pass
        self._connections.discard(writer)
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; True if the connection stays open."""
        async with asyncio.timeout(IDLE):
            head = await reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = line.partition(" ")
        target, _, version = rest.partition(" ")
        headers = {
            name.strip().lower(): value.strip() for name, colon, value in (one.partition(":") for one in lines) if colon
        }
        path, _, query = target.partition("?")
        if method not in ("GET", "HEAD"):
            answer = Answer(b"only GET and HEAD are answered here\n", 405)
        else:
            answer = await self._answer(Query(unquote(path), parse_qs(query, keep_blank_values=True), headers))
        stays = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close" and method in ("GET", "HEAD")
        _write(writer, answer, with_body=method != "HEAD", stays=stays)
        await writer.drain()
        return stays

    async def _answer(self, query: Query) -> Answer:
        try:
            return await self._handler(query)
        except Exception:
            log.exception("Answering %s failed", query.path)
            return Answer(b"internal error, see the log\n", 500)


def _write(writer: asyncio.StreamWriter, answer: Answer, *, with_body: bool, stays: bool) -> None:
    headers = {
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.body)),
        "X-Content-Type-Options": "nosniff",
        "Connection": "keep-alive" if stays else "close",
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (answer.body if with_body else b""))
