"""Sources: workload clusters and their Nodes wake objects of the management cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TypeAlias

from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.connection import Connection
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Queue
from kapstan.runtime.workqueue import LOW_PRIORITY

__all__ = ("ConnectionSource", "NodeSource")

# Who has to know that something happened to a workload cluster, or to a Node of one.
ClusterHandler: TypeAlias = Callable[[ObjectKey], Iterable[ObjectKey]]
NodeHandler: TypeAlias = Callable[[ObjectKey, Snapshot], Iterable[ObjectKey]]
# Whether a change of a Node, from and to, is of interest.
NodePredicate: TypeAlias = Callable[[Snapshot | None, Snapshot | None], bool]


class ConnectionSource:
    """Wakes objects when their workload cluster is connected or lost, and when it has been silent for longer than a
    time of grace, if there is one."""

    def __init__(self, clusters: ClusterCache, handler: ClusterHandler, *, grace: timedelta | None = None) -> None:
        self._clusters, self._handler, self._grace = clusters, handler, grace
        self._connections: dict[ObjectKey, Connection] = {}

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        unlisten = self._clusters.listen(lambda cluster: self._changed(queue, cluster))
        synced()
        try:
            await asyncio.Event().wait()
        finally:
            unlisten()

    def _changed(self, queue: Queue, cluster: ObjectKey) -> None:
        connection = self._clusters.find(cluster)
        if connection is not self._connections.pop(cluster, None):
            self._wake(queue, cluster, 0)
        else:
            self._failed(queue, cluster)
        if connection is not None:
            self._connections[cluster] = connection

    def _failed(self, queue: Queue, cluster: ObjectKey) -> None:
        """One failure says nothing, but if no success follows, somebody has to look when the time is over."""
        health = self._clusters.health(cluster)
        if self._grace is None:
            return
        if health.last_success is None:
            if health.failures == self._clusters.probe.failures:
                self._wake(queue, cluster, 0)
            return
        left = (self._grace - health.silent_for()).total_seconds()
        if left > 0:
            self._wake(queue, cluster, left + 1)

    def _wake(self, queue: Queue, cluster: ObjectKey, after: float) -> None:
        for key in self._handler(cluster):
            queue.add(key, after=after)


class NodeSource:
    """Wakes objects when a Node of their workload cluster changes; with patience, a moment after the first change."""

    def __init__(
        self,
        clusters: ClusterCache,
        handler: NodeHandler,
        *,
        when: NodePredicate = lambda old, new: True,
        patience: float = 0,
    ) -> None:
        self._clusters, self._handler, self._when, self._patience = clusters, handler, when, patience
        self._heard: dict[ObjectKey, Connection] = {}

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        unlisten = self._clusters.listen(lambda cluster: self._changed(queue, cluster))
        for connection in self._clusters:
            self._changed(queue, connection.cluster)
        synced()
        try:
            await asyncio.Event().wait()
        finally:
            unlisten()

    def _changed(self, queue: Queue, cluster: ObjectKey) -> None:
        connection = self._clusters.find(cluster)
        if connection is None:
            self._heard.pop(cluster, None)
        elif self._heard.get(cluster) is not connection:
            self._heard[cluster] = connection

            def hear(old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
                node = new or old
                if node is not None and self._when(old, new):
                    self._wake(queue, cluster, node, initial)

            connection.nodes.shared.listen(hear)

    def _wake(self, queue: Queue, cluster: ObjectKey, node: Snapshot, initial: bool) -> None:
        for key in self._handler(cluster, node):
            queue.add(key, priority=LOW_PRIORITY if initial else 0, after=self._patience)
