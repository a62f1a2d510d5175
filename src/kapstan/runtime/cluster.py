"""Cluster: one API server as controllers use it: a live client, informers, a cached client, and events."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from kapstan.client.client import Client
from kapstan.client.interface import Kind
from kapstan.runtime.cache import Cache
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.handler import AsyncHandler, Handler
from kapstan.runtime.metrics import Registry
from kapstan.runtime.predicate import PredicateFunction
from kapstan.runtime.recorder import EventBroadcaster, EventRecorder
from kapstan.runtime.scope import Scope
from kapstan.runtime.source import KindSource

__all__ = ("Cluster",)


class Cluster:
    """What controllers need of one cluster. A manager has one; more can be added to it and removed while it runs."""

    def __init__(
        self,
        client: Client,
        *,
        name: str = "",
        scope: Scope | None = None,
        scopes: Mapping[Kind[Any], Scope] | None = None,
        uncached: Collection[Kind[Any]] = (),
        metrics: Registry | None = None,
    ) -> None:
        self.name = name
        self.live = client
        self.metrics = metrics or Registry()
        self.informers = InformerFactory(client, scope=scope, scopes=scopes)
        self.cache = Cache(self.informers)
        self.client = CachedClient(client, self.cache, uncached=uncached)
        self._broadcaster = EventBroadcaster(client)

    async def run(self) -> None:
        """Keep the caches current and send events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informers.run(), name=f"informers {self.name}".strip())
            group.create_task(self._broadcaster.run(), name=f"events {self.name}".strip())

    async def wait_synced(self) -> None:
        """Wait until the caches are filled, but not for kinds that the server does not serve."""
        await self.informers.wait_synced()

    async def flush_events(self) -> None:
        """Wait until the events that were recorded so far are sent."""
        await self._broadcaster.flush()

    def recorder(self, controller: str) -> EventRecorder:
        """Record events in the name of a controller."""
        return self._broadcaster.recorder(controller)

    def source(
        self, kind: Kind[Any], handler: Handler | AsyncHandler, *, when: PredicateFunction | None = None
    ) -> KindSource:
        """This cluster's objects of a kind as a source, for a controller that is of another cluster."""
        return KindSource(self.informers.shared(kind), kind, handler, () if when is None else (when,))

    def trouble(self) -> str:
        """Why the caches are not current; empty if they are."""
        ill = [one for one in self.informers if not one.healthy and not one.absent]
        return "; ".join(f"{one.gvk.kind}: {one.trouble}" for one in ill)
