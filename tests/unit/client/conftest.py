"""A small HTTPS server on loopback that does what a test tells it to."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kapstan.client.config import Config
from kapstan.client.transport import Transport
from kapstan.machinery import pki

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Answers every request with `handler`, and remembers what came."""

    def __init__(self, folder: Path) -> None:
        self.ca = pki.new_ca("test")
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.handler: Handler = self.ok
        self.port = 0
        self._folder = folder
        self.accepted: set[_Accepted] = set()
        self.handshakes: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None

    async def ok(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"path": request.path_qs})

    def answers(self, *answers: Handler) -> None:
        """Give these answers in turn; the last one for ever."""
        left = list(answers)

        async def next_one(request: web.Request) -> web.StreamResponse:
            return await (left.pop(0) if len(left) > 1 else left[0])(request)

        self.handler = next_one

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def config(self, **changes: Any) -> Config:
        values: dict[str, Any] = {"server": self.url, "ca": self.ca.cert_pem, "timeout": 20.0}
        return Config(**{**values, **changes})

    async def start(
        self, *, certificate: pki.KeyPair | None = None, tls: bool = True, client_ca: bytes = b"", require: bool = False
    ) -> Server:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        context = self._context(certificate, client_ca, require) if tls else None
        loop = asyncio.get_running_loop()
        accept = functools.partial(_Accepted, self, context)
        self._listener = await loop.create_server(accept, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """End every connection, also those that have not got beyond their handshake."""
        if self._runner is None or self._listener is None:
            return
        self._listener.close()
        for accepted in list(self.accepted):
            accepted.transport.abort()
        await self._runner.cleanup()
        for task in list(self.handshakes):
            task.cancel()
        await asyncio.gather(*self.handshakes, return_exceptions=True)
        self._runner = self._listener = None

    def protocol(self) -> asyncio.BaseProtocol:
        assert self._runner is not None
        assert self._runner.server is not None
        return self._runner.server()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        return await self.handler(request)

    def _context(self, certificate: pki.KeyPair | None, client_ca: bytes, require: bool) -> ssl.SSLContext:
        pair = certificate or self.ca.issue(
            "server", dns_names=["api.test"], ip_addresses=["127.0.0.1"], usages=[pki.Usage.SERVER]
        )
        (self._folder / "tls.crt").write_bytes(pair.cert_pem)
        (self._folder / "tls.key").write_bytes(pair.key_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "tls.crt", self._folder / "tls.key")
        if client_ca:
            context.load_verify_locations(cadata=client_ca.decode())
            context.verify_mode = ssl.CERT_REQUIRED if require else ssl.CERT_OPTIONAL
        return context


class _Accepted(asyncio.Protocol):
    """A connection, kept in sight from its first byte to its last, so that none is left open."""

    transport: asyncio.Transport

    def __init__(self, server: Server, context: ssl.SSLContext | None) -> None:
        self._server = server
        self._context = context

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server.accepted.add(self)
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._hand_over())
        self._server.handshakes.add(task)
        task.add_done_callback(self._server.handshakes.discard)

    async def _hand_over(self) -> None:
        protocol = self._server.protocol()
        if self._context is None:
            self.transport.set_protocol(protocol)
            protocol.connection_made(self.transport)
            self.transport.resume_reading()
            return
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(self.transport, protocol, self._context, server_side=True)
        except OSError:  # the client does not trust us
            self.transport.abort()
            return
        assert secured is not None
        protocol.connection_made(secured)


class Naps:
    """Stands in for sleeping: remembers how long, and takes no time."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server that is not started yet: tests say how."""
    server = Server(tmp_path)
    yield server
    await server.stop()


@pytest.fixture
async def transport_to(naps: Naps) -> AsyncIterator[Callable[..., Transport]]:
    """Makes transports that are closed at the end of the test."""
    made: list[Transport] = []

    def make(config: Config, **options: Any) -> Transport:
        made.append(Transport(config, sleep=naps, **options))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()


def status(code: int, reason: str, message: str = "", **headers: str) -> Handler:
    """Refuses as the API server does."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}

    async def refuse(request: web.Request) -> web.StreamResponse:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.json_response({**body, "code": code}, status=code, headers=named)

    return refuse
