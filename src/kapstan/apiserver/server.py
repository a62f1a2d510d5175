"""Server: sockets for logical clusters, and the embedded server that most people want: one cluster, ready to use."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from kapstan.apiserver.admission.webhook.client import WebhookClient
from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.controllers import manager as controllers
from kapstan.apiserver.credentials import ADMIN, MASTERS, Credentials, kubeconfig
from kapstan.apiserver.http.front import new_front
from kapstan.apiserver.http.tls import Listener, listen, server_context
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.database import Synchronous
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.sqlite import Database
from kapstan.machinery.errors import ConfigError

__all__ = ("EmbeddedServer", "Endpoint", "Server")

_COMPACT_EVERY = 30.0
_DATABASE = "kapstan.db"


class Endpoint:
    """Where one logical cluster is reached."""

    def __init__(self, cluster: LogicalCluster, host: str, listener: Listener) -> None:
        self.cluster = cluster
        self.host = host
        self.port = listener.port
        self._listener = listener
        self.controllers: controllers.Controllers | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"

    def kubeconfig(self, user: str = ADMIN, groups: tuple[str, ...] = (MASTERS,)) -> dict[str, Any]:
        """A kubeconfig for a user with a client certificate; an administrator's by default."""
        credentials = self.cluster.credentials
        client = credentials.client(user, groups)
        return kubeconfig(self.url, credentials.ca.cert_pem, client, cluster=self.cluster.name, user=user)

    def renew(self, credentials: Credentials) -> None:
        """Have other credentials of the same authority: nobody is interrupted, whoever comes next sees them."""
        self.cluster.credentials = credentials
        self._listener.renew()

    async def close(self) -> None:
        """Take no more connections, end those that there are, and let the cluster rest."""
        if self.controllers is not None:
            self.controllers.close()
        self.cluster.close()
        await asyncio.sleep(0)  # watchers get the end of their streams
        self._listener.close()


class Server:
    """Serves any number of logical clusters, each at an address and port of its own.

    async with Server() as server:
        endpoint = await server.add(await server.new_cluster("one"), "127.0.0.2")
    """

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._endpoints: dict[str, Endpoint] = {}

    async def __aenter__(self) -> Server:
        self._client = WebhookClient()
        self._stack.push_async_callback(self._client.close)
        self._tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._housekeeping = self._tasks.create_task(self._keep_house())
        return self

    async def __aexit__(self, *exc: object) -> None:
        for name in tuple(self._endpoints):
            await self.remove(name)
        self._housekeeping.cancel()
        await self._stack.aclose()

    @property
    def tasks(self) -> asyncio.TaskGroup:
        """Where clusters may run their work in the background."""
        return self._tasks

    async def new_cluster(
        self,
        name: str,
        storage: MemoryStorage | None = None,
        *,
        credentials: Credentials | None = None,
        static_tokens: Mapping[str, UserInfo] | None = None,
    ) -> LogicalCluster:
        """A cluster that can be added; in memory unless a storage is given, with its own keys unless others are."""
        return await new_cluster(
            name,
            storage,
            tasks=self._tasks,
            credentials=credentials,
            static_tokens=static_tokens,
            webhook_client=self._client,
        )

    async def add(
        self,
        cluster: LogicalCluster,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        advertise: str = "",
        without_controllers: Collection[str] = (),
    ) -> Endpoint:
        """Serve a cluster and start its controllers; port 0 takes any that is free.

        Pods are told to find the server at the address `advertise`, where that is another one.
        ConfigError if the address cannot be had.
        """
        try:
            listening = listen(host, port)
        except OSError as error:
            hint = "; end what listens there, or choose another port" if error.errno == errno.EADDRINUSE else ""
            raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror or error}{hint}") from error
        listener = Listener(
            listening, self._tasks, lambda: server_context(cluster.credentials, (host,)), new_front(cluster)
        )
        endpoint = self._endpoints[cluster.name] = Endpoint(cluster, host, listener)
        cluster.address = f"{advertise or host}:{endpoint.port}"
        endpoint.controllers = await controllers.start(cluster, without=without_controllers)
        return endpoint

    async def remove(self, name: str) -> None:
        """Stop serving a cluster."""
        endpoint = self._endpoints.pop(name, None)
        if endpoint is not None:
            await endpoint.close()

    async def _keep_house(self) -> None:
        """One task for all clusters: an idle one costs nothing."""
        while True:
            await asyncio.sleep(_COMPACT_EVERY)
            for endpoint in tuple(self._endpoints.values()):
                endpoint.cluster.storage.compact()


class EmbeddedServer:
    """One logical cluster on loopback, in the caller's event loop: `async with EmbeddedServer() as server:`.

    In memory unless `data_dir` is given. It lives in a task of its own, so it may be entered in one task and left in
    another, as fixtures do.
    """

    cluster: LogicalCluster
    endpoint: Endpoint

    def __init__(
        self,
        *,
        data_dir: Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str = "",
        name: str = "kapstan",
        static_tokens: Mapping[str, UserInfo] | None = None,
        synchronous: Synchronous = "FULL",
        without_controllers: Collection[str] = (),
    ) -> None:
        self._data_dir = data_dir
        self._host, self._port, self._advertise = host, port, advertise
        self._name = name
        self._static_tokens = static_tokens
        self._synchronous: Synchronous = synchronous
        self._without_controllers = without_controllers

    async def __aenter__(self) -> EmbeddedServer:
        self._stop = asyncio.Event()
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(started))
        self._task.add_done_callback(lambda _: started.cancel())
        try:
            await started
        except asyncio.CancelledError:
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait([self._task])  # it closes what it has opened
                raise
            await self._task  # raises why it did not start
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stop.set()
        await self._task

    async def _run(self, started: asyncio.Future[None]) -> None:
        async with AsyncExitStack() as stack:
            storage = None
            if self._data_dir is not None:
                database = await Database.open(self._data_dir / _DATABASE, synchronous=self._synchronous)
                stack.push_async_callback(database.close)
                storage = await database.storage(self._name)
            server = await stack.enter_async_context(Server())
            self.cluster = await server.new_cluster(self._name, storage, static_tokens=self._static_tokens)
            self.endpoint = await server.add(
                self.cluster,
                self._host,
                self._port,
                advertise=self._advertise,
                without_controllers=self._without_controllers,
            )
            started.set_result(None)
            await self._stop.wait()

    @property
    def url(self) -> str:
        return self.endpoint.url

    @cached_property
    def _admin(self) -> dict[str, Any]:
        return self.endpoint.kubeconfig()

    def kubeconfig(self) -> dict[str, Any]:
        """The administrator's."""
        return self._admin
