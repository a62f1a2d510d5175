"""ClusterCache: a connection to every workload cluster, kept by a task of its own.

What it keeps true: whoever asks for a connection has it at once or is refused at once, never waits; so a dead cluster
costs the others nothing. A connection is tried when there is reason to believe in it: the infrastructure is there and a
kubeconfig is; then again after each failure, ever more slowly, and at once when something new is heard (the control
plane has come up, the kubeconfig or the endpoint has changed).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeAlias

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.remote.accessor import Accessor
from kapstan.cluster.remote.connection import ClientOptions, Connection
from kapstan.cluster.remote.health import Health, NotConnected, ProbeOptions
from kapstan.cluster.remote.kubeconfig import is_kubeconfig
from kapstan.cluster.remote.metrics import ConnectionMetrics
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.metrics import Registry
from kapstan.runtime.snapshot import Snapshot

__all__ = ("SECRETS", "ClusterCache", "ConnectionListener")

ConnectionListener: TypeAlias = Callable[[ObjectKey], None]

# What is cached of Secrets: that they changed. What is in them is asked for when it is needed.
SECRETS = metadata_of(Secret)


class ClusterCache:
    """Connections to workload clusters, by Cluster."""

    needs_leader_election = False

    def __init__(
        self,
        management: CachedClient,
        *,
        client: ClientOptions | None = None,
        probe: ProbeOptions | None = None,
        metrics: Registry | None = None,
    ) -> None:
        self.probe = probe or ProbeOptions()
        self._management = management
        self._options = client or ClientOptions()
        self._metrics = ConnectionMetrics(metrics or Registry())
        self._accessors: dict[ObjectKey, Accessor] = {}
        self._tasks: dict[ObjectKey, asyncio.Task[None]] = {}
        self._listeners: list[ConnectionListener] = []
        self._group: asyncio.TaskGroup | None = None
        factory = management.cache.factory
        self._clusters, self._secrets = factory.shared(Cluster), factory.shared(SECRETS)

    # --- Asking -----------------------------------------------------------------------------------------------------

    def connection(self, cluster: ObjectKey) -> Connection:
        """The connection to a workload cluster; NotConnected if there is none at present."""
        accessor = self._accessors.get(cluster)
        if accessor is None or accessor.connection is None:
            why = f": {accessor.health.error}" if accessor is not None and accessor.health.error else ""
            raise NotConnected(f"there is no connection to the workload cluster of Cluster {cluster}{why}")
        return accessor.connection

    def health(self, cluster: ObjectKey) -> Health:
        """What probes have shown so far."""
        accessor = self._accessors.get(cluster)
        return accessor.health if accessor is not None else Health()

    def find(self, cluster: ObjectKey) -> Connection | None:
        """The connection to a workload cluster, if there is one at present."""
        accessor = self._accessors.get(cluster)
        return accessor.connection if accessor is not None else None

    def __iter__(self) -> Iterator[Connection]:
        """The connections that there are."""
        return iter([one.connection for one in self._accessors.values() if one.connection is not None])

    # --- Listening --------------------------------------------------------------------------------------------------

    def listen(self, listener: ConnectionListener) -> Callable[[], None]:
        """Have a function told when a connection comes, goes, or a probe fails. Call the result to end it."""
        self._listeners = [*self._listeners, listener]
        return lambda: self._unlisten(listener)

    def _unlisten(self, listener: ConnectionListener) -> None:
        self._listeners = [one for one in self._listeners if one is not listener]

    def _tell(self, cluster: ObjectKey) -> None:
        for listener in self._listeners:
            listener(cluster)

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep connections until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            unlisten = [self._clusters.listen(self._cluster_changed), self._secrets.listen(self._secret_changed)]
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None
                for each in unlisten:
                    each()

    def _cluster_changed(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is None:
            assert old is not None
            self._forget(old.key)
            return
        cluster: Cluster = new.decode(Cluster)
        initialization = cluster.status.initialization
        if initialization is None or not initialization.infrastructure_provisioned:
            return  # nothing can answer yet
        accessor = self._accessors.get(new.key) or self._begin(new.key)
        accessor.hear_of_cluster(cluster)

    def _secret_changed(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is None:
            return
        accessor = self._accessors.get(ObjectKey(new.namespace, is_kubeconfig(new.name)))
        if accessor is not None:
            accessor.hear()

    def _begin(self, cluster: ObjectKey) -> Accessor:
        accessor = self._accessors[cluster] = Accessor(
            cluster, self._management.live, self._options, self.probe, self._metrics, self._tell
        )
        if self._group is not None:
            self._tasks[cluster] = self._group.create_task(accessor.run(), name=f"workload cluster {cluster}")
        return accessor

    def _forget(self, cluster: ObjectKey) -> None:
        self._accessors.pop(cluster, None)
        self._metrics.forget(cluster)
        task = self._tasks.pop(cluster, None)
        if task is not None:
            task.cancel()
