"""Connection: one workload cluster as core uses it: a client, and a cache of its Nodes.

Reads of Nodes come from the cache, anything else is asked of the server (`live`), at a bounded rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.client.interface import Kind, gvk_of
from kapstan.client.transport import Request, user_agent
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.background import background
from kapstan.runtime.cache import Cache
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.informer import Informer, SharedInformer
from kapstan.runtime.listwatch import ClientListWatch
from kapstan.runtime.scope import Scope

__all__ = ("ClientOptions", "Connection", "Follower")

_PROVIDER_ID = "providerID"


class ClientOptions(Struct, frozen=True, kw_only=True):
    """How workload clusters are talked to."""

    qps: float = 20
    burst: int = 30
    timeout: float = 10  # seconds that one request may take
    sync_timeout: float = 60  # seconds until the Nodes must have been read
    name: str = "kapstan"  # who we are in the workload cluster's audit log and managed fields


class Connection:
    """A client of a workload cluster, and its Nodes."""

    def __init__(self, cluster: ObjectKey, config: Config, options: ClientOptions) -> None:
        self.cluster = cluster
        self._options = options
        limited = config.replace(
            qps=options.qps, burst=options.burst, timeout=options.timeout, user_agent=user_agent(options.name)
        )
        self.live = Client(limited, field_manager=options.name)
        self.informers = InformerFactory(self.live, scopes={Node: Scope(transform=_without_images)})
        self.client = CachedClient(self.live, Cache(self.informers))
        self.nodes: Informer[Node] = self.informers[Node]
        self.nodes.add_index(_PROVIDER_ID, lambda node: [node.spec.provider_id] if node.spec.provider_id else [])
        self._group: asyncio.TaskGroup | None = None

    async def probe(self, timeout: float) -> None:
        """Ask once whether the API server answers; an error says why not."""
        request = Request(method="GET", path="/", what="probe", idempotent=True, retry=False, timeout=timeout)
        await self.live.transport.send(request)

    def nodes_of(self, provider_id: str) -> list[Node]:
        """The Nodes that say that they are this computer; more than one is a mistake of theirs."""
        return self.nodes.lister().by_index(_PROVIDER_ID, provider_id)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Connection]:
        """Keep the cache current inside the block, which begins when it is filled."""
        try:
            async with background(self._run(), name=f"connection {self.cluster}"):
                async with asyncio.timeout(self._options.sync_timeout):
                    await self.informers.wait_synced()
                yield self
        finally:
            await self.live.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await self.informers.run()
            finally:
                self._group = None

    def follow(self, kind: Kind[Any], scope: Scope, changed: Callable[[], None]) -> Follower:
        """Cache some objects of a kind for a while, and call a function whenever one of them changes."""
        follower = Follower(kind, scope, changed)
        if self._group is not None:
            follower.start(self._group, self.live)
        return follower


class Follower:
    """Some objects of a workload cluster, kept current until closed, or until the connection ends."""

    def __init__(self, kind: Kind[Any], scope: Scope, changed: Callable[[], None]) -> None:
        self._informer: Informer[Any] = Informer(SharedInformer(gvk_of(kind), scope=scope), kind)
        self._informer.shared.listen(lambda old, new, initial: None if initial else changed())
        self._task: asyncio.Task[None] | None = None

    def start(self, group: asyncio.TaskGroup, client: Client) -> None:
        shared, kind = self._informer.shared, self._informer.kind
        list_watch = ClientListWatch(client, kind, shared.scope)
        self._task = group.create_task(shared.run([list_watch]), name=f"follow {shared.gvk.kind}")

    @property
    def open(self) -> bool:
        return self._task is not None and not self._task.done()

    async def list(self) -> list[Any]:
        """The objects, once they have been read."""
        await self._informer.wait_synced()
        return self._informer.lister().list()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _without_images(node: dict[str, Any]) -> dict[str, Any]:
    """The list of container images is most of a Node, and nobody reads it."""
    status = node.get("status")
    if isinstance(status, dict):
        status.pop("images", None)
    return node
