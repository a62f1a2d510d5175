"""Computers: the nodes of simulated machines, on one connection of their own to each workload cluster.

A connection is there while a computer of the cluster is, and begins anew with a new kubeconfig. It is told which
computers run whenever they are looked at, so nothing has to be remembered.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from kapstan.client.config import Config
from kapstan.client.transport import user_agent
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.machinery.gvk import ObjectKey
from kapstan.simulation import Failure, Kubelets, NodeSpec, Simulation

__all__ = ("Computers",)

_NAME = "kapstan-simulated-infrastructure"


@dataclass
class _Site:
    """The computers of one workload cluster."""

    config: Config
    simulation: Simulation
    task: asyncio.Task[None]
    nodes: set[str] = field(default_factory=set)


class Computers:
    """Runs the nodes of simulated machines."""

    def __init__(self, clusters: ClusterCache) -> None:
        self._clusters = clusters
        self._sites: dict[ObjectKey, _Site] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep computers running until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._sites.clear()

    async def on(self, cluster: ObjectKey, node: NodeSpec, failure: Failure | None) -> None:
        """Have a computer run, and fail as it should; NotConnected if its cluster cannot be reached."""
        kubelets = self._site(cluster, node.name)
        await kubelets.register(node)
        if failure is None:
            await kubelets.recover(node.name)
        else:
            await kubelets.fail(node.name, failure)

    async def off(self, cluster: ObjectKey, name: str) -> None:
        """Have a computer run no longer. Its Node stays: whoever deletes machines deletes it."""
        site = self._sites.get(cluster)
        if site is None or name not in site.nodes:
            return
        await site.simulation.kubelets.remove(name)
        site.nodes.discard(name)
        if not site.nodes:
            self._close(cluster)

    def _site(self, cluster: ObjectKey, node: str) -> Kubelets:
        config = self._clusters.connection(cluster).live.config.replace(qps=0, user_agent=user_agent(_NAME))
        site = self._sites.get(cluster)
        if site is not None and site.config != config:
            self._close(cluster)
            site = None
        if site is None:
            site = self._sites[cluster] = self._open(cluster, config)
        site.nodes.add(node)
        return site.simulation.kubelets

    def _open(self, cluster: ObjectKey, config: Config) -> _Site:
        assert self._group is not None, "computers are asked for by controllers, which the same manager runs"
        simulation = Simulation(config, name=str(cluster), workloads=False)
        return _Site(config, simulation, self._group.create_task(simulation.run(), name=f"computers of {cluster}"))

    def _close(self, cluster: ObjectKey) -> None:
        self._sites.pop(cluster).task.cancel()
