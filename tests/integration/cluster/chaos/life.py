"""The life of a cluster, from manifests to its deletion, under managers that do not live long.

A manager here is what a process of `kapstan up` is: all controllers and the control planes that it hosts. When it dies,
all that it had in memory is lost, and another begins with what the API server and the data folder say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kapstan.client import Client, Config, Patch
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.infrastructure import SimulatedMachine
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.core.controllers import SCOPES, add_controllers
from kapstan.cluster.infrastructure.simulated.adding import add_simulated_infrastructure
from kapstan.cluster.management import KINDS
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import documents_of
from kapstan.k8s.core_v1 import Node, Secret
from kapstan.machinery.conditions import is_true
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.testing import Environment

from .faults import Faults

PATIENCE = 200.0  # seconds
NAME = "c"
OLD, NEW = "v1.36.3", "v1.36.4"


class Life:
    """One cluster in a namespace, and what must be true of it at every moment."""

    def __init__(self, env: Environment, namespace: str, folder: Path) -> None:
        self.env, self.namespace, self._folder = env, namespace, folder
        self.most = 0  # machines at once
        self.writes = 0  # of all managers
        self.deaths = 0

    @property
    def client(self) -> Client:
        return self.env.client

    # --- Managers ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def managed(self, trouble: Callable[[], Faults]) -> AsyncIterator[None]:
        """Managers look after the cluster inside the block, one after the other, each with its own troubles."""
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._count_machines())
            managers = group.create_task(self._succession(trouble))
            try:
                yield
            finally:
                managers.cancel()
                following.cancel()

    async def _succession(self, trouble: Callable[[], Faults]) -> None:
        while True:
            faults = trouble()
            async with asyncio.TaskGroup() as group:
                process = group.create_task(self._process(faults))
                try:
                    await faults.dead.wait()
                    self.deaths += 1
                finally:
                    process.cancel()
                    self.writes += faults.writes

    async def _process(self, faults: Faults) -> None:
        options = ManagerOptions(scopes=SCOPES, namespaces=(self.namespace,), graceful_shutdown_timeout=0)
        async with SimulatedRuntime(self._folder) as runtime:
            manager = Manager(self.env.config, options)
            faults.strike(manager.client.transport)
            clusters = add_controllers(manager, webhooks=False)
            add_hosted_control_planes(manager, {"Simulated": runtime}, webhooks=False)
            add_simulated_infrastructure(manager, clusters)
            await manager.start()

    async def _count_machines(self) -> None:
        """How many machines there are at once, those that are on their way out not counted."""
        alive: set[str] = set()
        async with self.client.watch(Machine, self.namespace) as events:
            async for event in events:
                machine = event.object
                (alive.discard if event.type == "DELETED" or machine.deleting else alive.add)(machine.name)
                self.most = max(self.most, len(alive))

    # --- What is done to the cluster --------------------------------------------------------------------------------

    async def create(self, workers: int) -> None:
        values = {
            "CLUSTER_NAME": NAME,
            "NAMESPACE": self.namespace,
            "WORKER_MACHINE_COUNT": str(workers),
            "KUBERNETES_VERSION": OLD,
        }
        for document in documents_of(flavor("simulated"), values):
            await self.client.create(document)

    async def scale(self, workers: int) -> None:
        await self.client.patch(await self._deployment(), Patch.merge({"spec": {"replicas": workers}}))

    async def roll_out(self, version: str) -> None:
        change = {"spec": {"template": {"spec": {"version": version}}}}
        await self.client.patch(await self._deployment(), Patch.merge(change))

    async def delete(self) -> None:
        await self.client.delete(Cluster, NAME, self.namespace)

    async def _deployment(self) -> MachineDeployment:
        return await self.client.get(MachineDeployment, f"{NAME}-md-0", self.namespace)

    # --- What comes of it -------------------------------------------------------------------------------------------

    async def settled(self, workers: int, version: str = OLD) -> None:
        """Wait until the cluster is as it is wanted, and see that there is nothing else."""

        def holds(cluster: Cluster) -> bool:
            counted = cluster.status.workers
            numbers = counted and (counted.replicas, counted.available_replicas, counted.up_to_date_replicas)
            return is_true(cluster.status.conditions, "Available") and numbers == (workers, workers, workers)

        await self.env.eventually(Cluster, NAME, self.namespace, holds, timeout=PATIENCE)
        machines = await self._machines_when(lambda machines: _all_run(machines, workers, version))
        await self._nothing_else(machines)

    async def gone(self) -> None:
        """Wait until nothing is left."""
        await self.env.gone(Cluster, NAME, self.namespace, timeout=PATIENCE)
        await self._eventually(self._left, lambda left: not left)

    async def _left(self) -> list[str]:
        """Everything of the cluster's that there is."""
        found: list[Any] = []
        for kind in KINDS:
            found += await self.client.list(kind, self.namespace)
        found += await self.client.list(Secret, self.namespace, labels={"cluster.x-k8s.io/cluster-name": NAME})
        return [f"{one.kind} {one.name}" for one in found]

    async def _machines_when(self, holds: Callable[[list[Machine]], bool]) -> list[Machine]:
        found: list[Machine] = await self._eventually(lambda: self.client.list(Machine, self.namespace), holds)
        return found

    async def _nothing_else(self, machines: list[Machine]) -> None:
        """One computer and one node for each machine, one set for all of them: none twice, none without the other."""
        computers = await self.client.list(SimulatedMachine, self.namespace)
        assert sorted(one.spec.provider_id or "" for one in computers) == _provider_ids(machines)
        assert {one.name for one in computers} == {one.spec.infrastructure_ref.name for one in machines}
        owners = {owner.name for one in computers for owner in one.metadata.owner_references}
        assert owners == {one.name for one in machines}
        sets = await self.client.list(MachineSet, self.namespace)
        assert {one.metadata.labels["cluster.x-k8s.io/set-name"] for one in machines} <= {one.name for one in sets}
        secret = await self.client.get(Secret, f"{NAME}-kubeconfig", self.namespace)
        config = Config.from_kubeconfig(secret.data["value"])

        async def nodes() -> list[str]:
            async with Client(config) as workload:
                return sorted(node.spec.provider_id or "" for node in await workload.list(Node))

        await self._eventually(nodes, lambda found: found == _provider_ids(machines))

    async def _eventually(self, look: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
        """Look until it is so. Managers come and go, so there is no one thing to wait for."""
        found: Any = None
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    found = await look()
                    if holds(found):
                        return found
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not within {PATIENCE:g} s; last seen: {found}") from None


def _all_run(machines: list[Machine], workers: int, version: str) -> bool:
    return len(machines) == workers and all(
        one.spec.version == version and one.status.phase == "Running" and not one.deleting for one in machines
    )


def _provider_ids(machines: list[Machine]) -> list[str]:
    return sorted(one.spec.provider_id or "" for one in machines)
