"""Simulation: one cluster whose workload controllers and nodes are simulated, on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.runtime.background import background
from kapstan.runtime.cluster import Cluster
from kapstan.runtime.scope import Scope
from kapstan.simulation.kubelets.kubelets import Kubelets
from kapstan.simulation.kubelets.settings import Timing
from kapstan.simulation.nodes.lifecycle import GRACE
from kapstan.simulation.workloads import Workloads

__all__ = ("Simulation",)

_FIELD_MANAGER = "kapstan-simulation"
# Clusters have Endpoints all the same.
_DEPRECATED = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


class Simulation:
    """What makes a bare API server a cluster in which Deployments become available.

    A cluster that has a real controller manager and scheduler needs only the nodes: `workloads=False`.
    """

    def __init__(
        self,
        config: Config,
        *,
        name: str = "",
        workloads: bool = True,
        timing: Timing | None = None,
        node_grace: float = GRACE,
    ) -> None:
        client = Client(config, field_manager=_FIELD_MANAGER)
        client.transport.warnings.expect(_DEPRECATED)
        self.cluster = Cluster(client, name=name, scope=Scope(resync=0))
        self.kubelets = Kubelets(self.cluster, timing=timing)
        self.workloads = Workloads(self.cluster, node_grace=node_grace) if workloads else None

    async def run(self) -> None:
        """Simulate until cancelled. An API server that is away is waited for."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.cluster.run(), name=f"simulated cluster {self.cluster.name}".strip())
                group.create_task(self.kubelets.run(), name="simulated nodes")
                if self.workloads is not None:
                    group.create_task(self.workloads.run(), name="simulated workloads")
        finally:
            await self.cluster.live.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Simulate inside the block."""
        async with background(self.run(), name="simulation"):
            yield self
