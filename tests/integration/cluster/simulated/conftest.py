"""A management plane on each environment, and helpers that make clusters in a namespace of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cluster.plane import plane_in

from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.cluster.api.infrastructure import SimulatedCluster, SimulatedMachine
from kapstan.cluster.api.infrastructure.simulatedcluster import SimulatedClusterSpec
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachineSpec
from kapstan.cluster.management import ManagementPlane
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.testing import Environment

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
CONTROL_PLANE = "controlplane.cluster.x-k8s.io"


class Site:
    """A namespace of a management plane."""

    def __init__(self, env: Environment, plane: ManagementPlane, namespace: str) -> None:
        self.env, self.plane, self.namespace = env, plane, namespace

    @property
    def client(self) -> Client:
        return self.env.client

    def named(self, name: str, **labels: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace=self.namespace, labels=labels)

    async def cluster(self, name: str = "c", spec: SimulatedClusterSpec | None = None) -> None:
        """A cluster with a simulated control plane and simulated infrastructure, and bootstrap data for machines."""
        await self.client.create(
            SimulatedCluster(metadata=self.named(name), spec=spec or SimulatedClusterSpec()),
        )
        await self.client.create(
            {
                "apiVersion": f"{CONTROL_PLANE}/v1beta2",
                "kind": "HostedControlPlane",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"version": "v1.36.3", "runtime": {"type": "Simulated"}},
            }
        )
        refs = ClusterSpec(
            infrastructure_ref=ContractReference(api_group=INFRASTRUCTURE, kind="SimulatedCluster", name=name),
            control_plane_ref=ContractReference(api_group=CONTROL_PLANE, kind="HostedControlPlane", name=name),
        )
        await self.client.create(Cluster(metadata=self.named(name), spec=refs))
        data = Secret(metadata=self.named(f"{name}-bootstrap"), data={"value": b"#cloud-config"})
        data.metadata.labels = {CLUSTER_NAME: name}
        await self.client.create(data)

    async def machine(
        self, name: str, cluster: str = "c", spec: SimulatedMachineSpec | None = None, **machine: Any
    ) -> None:
        """A machine, and its computer."""
        await self.client.create(
            SimulatedMachine(metadata=self.named(name), spec=spec or SimulatedMachineSpec()),
        )
        wanted: dict[str, Any] = {"bootstrap": Bootstrap(data_secret_name=f"{cluster}-bootstrap"), **machine}
        ref = ContractReference(api_group=INFRASTRUCTURE, kind="SimulatedMachine", name=name)
        spec_of_machine = MachineSpec(cluster_name=cluster, infrastructure_ref=ref, **wanted)
        await self.client.create(Machine(metadata=self.named(name), spec=spec_of_machine))

    @asynccontextmanager
    async def workload(self, cluster: str = "c") -> AsyncIterator[Client]:
        """The workload cluster, through its kubeconfig."""
        secret = await self.env.eventually(Secret, f"{cluster}-kubeconfig", self.namespace)
        async with Client(Config.from_kubeconfig(secret.data["value"])) as client:
            yield client

    async def eventually(self, kind: type[Any], name: str, condition: Any) -> Any:
        return await self.env.eventually(kind, name, self.namespace, condition, timeout=60)

    async def gone(self, kind: type[Resource], name: str) -> None:
        await self.env.gone(kind, name, self.namespace, timeout=60)


@pytest.fixture
async def site(env: Environment, tmp_path: Path) -> AsyncIterator[Site]:
    """All controllers, in a namespace."""
    namespace = await env.namespace()
    async with plane_in(env, namespace, tmp_path / "plane") as plane:
        yield Site(env, plane, namespace)
