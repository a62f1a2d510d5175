"""Both API servers for these tests, a namespace for each, and a way to be cruel to connections."""

from __future__ import annotations

import asyncio
import json
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from kapstan.client import Client, Config
from kapstan.k8s.core_v1 import Namespace
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing.servers import embedded_server


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def config(request: pytest.FixtureRequest) -> AsyncIterator[Config]:
    """How to reach an API server: the embedded one, new for each test, and the real one, shared by all."""
    if request.param == "real":
        yield Config.from_kubeconfig(request.getfixturevalue("real_api_server").kubeconfig())
        return
    async with embedded_server() as server:
        yield Config.from_kubeconfig(server.kubeconfig())


@pytest.fixture
def kubeconfig(config: Config, tmp_path: Path) -> Path:
    """The same as a file, for other processes."""
    cluster = {"server": config.server, "certificate-authority-data": b64encode(config.ca).decode()}
    user = {
        "client-certificate-data": b64encode(config.cert).decode(),
        "client-key-data": b64encode(config.key).decode(),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
async def client(config: Config) -> AsyncIterator[Client]:
    async with Client(config) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> str:
    name = f"test-{secrets.token_hex(4)}"
    await client.create(Namespace(metadata=ObjectMeta(name=name)))
    return name


Eventually = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
def eventually() -> Eventually:
    """Wait until a condition holds."""

    async def wait(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():  # noqa: ASYNC110 - conditions of tests are no events
                await asyncio.sleep(0.02)

    return wait


class Proxy:
    """A TCP proxy in front of the API server whose connections can be cut, and silenced without being cut."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.port = 0
        self.connections = 0
        self._server: asyncio.Server | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        await self.open()
        try:
            yield self
        finally:
            await self.close()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse connections from now on, and end those that there are."""
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """End every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    def silence(self) -> None:
        """Deliver nothing of what the server sends on the connections that there are; new ones are fine."""
        self._flowing.clear()
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        flowing = self._flowing
        with suppress(OSError, asyncio.IncompleteReadError):
            upstream_reader, upstream = await asyncio.open_connection(*self._target)
            self._writers |= {writer, upstream}
            always = asyncio.Event()
            always.set()
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, upstream, always))
                group.create_task(_pump(upstream_reader, writer, flowing))
            self._writers -= {writer, upstream}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            await flowing.wait()
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def proxy(config: Config) -> AsyncIterator[Proxy]:
    server = urlsplit(config.server)
    async with Proxy(server.hostname or "", server.port or 443).running() as proxy:
        yield proxy


@pytest.fixture
async def fragile(config: Config, proxy: Proxy) -> AsyncIterator[Client]:
    """A client whose connections go through the proxy."""
    behind = msgspec.structs.replace(config, server=f"https://127.0.0.1:{proxy.port}")
    async with Client(behind) as client:
        yield client
