"""A management cluster with core's controllers, and providers whose part the tests play themselves.

The providers' kinds hold whatever they are given: a test writes into their status what a provider would.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from msgspec import field
from tests.goodbyes import goodbyes as goodbyes

from kapstan.client import Client, Patch
from kapstan.cluster.api.core import (
    Cluster,
    ClusterClass,
    Machine,
    MachineDeployment,
    MachineDrainRule,
    MachineHealthCheck,
    MachinePool,
    MachineSet,
)
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.core.controllers import SCOPES, add_controllers
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.k8s.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Secret, Taint
from kapstan.machinery.codec import load_yaml, to_yaml
from kapstan.machinery.conditions import find
from kapstan.machinery.markers import PreserveUnknown
from kapstan.machinery.meta import Condition, ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.testing import Environment
from kapstan.testing import embedded as an_environment

if TYPE_CHECKING:
    from .plant import Plant

CONTRACT = {"cluster.x-k8s.io/v1beta2": "v1"}
PROVISIONED = {"initialization": {"provisioned": True}}
PROVIDER_ID = "test:///m"
Anything = Annotated[dict[str, Any], PreserveUnknown()]


@resource(group="infrastructure.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericCluster(Resource):
    """The infrastructure of a cluster."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="infrastructure.cluster.x-k8s.io", version="v1alpha1", labels={"cluster.x-k8s.io/v1beta1": "v1alpha1"})
class LegacyCluster(Resource):
    """The infrastructure of a cluster, of a provider that follows the old contract."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="infrastructure.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericMachine(Resource):
    """The computer of a machine."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="controlplane.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericControlPlane(Resource):
    """The control plane of a cluster."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="bootstrap.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericConfig(Resource):
    """How a machine becomes a node."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


PROVIDERS = (GenericCluster, LegacyCluster, GenericMachine, GenericControlPlane, GenericConfig)
CORE = (
    Cluster,
    ClusterClass,
    Machine,
    MachineDeployment,
    MachineDrainRule,
    MachineHealthCheck,
    MachinePool,
    MachineSet,
)


class World:
    """A namespace of a management cluster in which core's controllers run."""

    def __init__(self, env: Environment, namespace: str) -> None:
        self.env = env
        self.namespace = namespace
        self.clusters: ClusterCache | None = None

    @property
    def client(self) -> Client:
        return self.env.client

    def named(self, name: str, **labels: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace=self.namespace, labels=labels)

    async def provider(self, kind: type[Resource], name: str, **parts: Any) -> Any:
        """Make a provider's object, with its status."""
        made: Any = await self.client.create(kind(metadata=self.named(name), spec=parts.get("spec", {})))  # type: ignore[call-arg]
        return await self.says(made, parts["status"]) if "status" in parts else made

    async def says(self, obj: Resource, status: dict[str, Any], spec: dict[str, Any] | None = None) -> Any:
        """Write what a provider would."""
        if spec is not None:
            await self.client.patch(obj, Patch.merge({"spec": spec}))
        return await self.client.patch(obj, Patch.merge({"status": status}), subresource="status")

    async def cluster(self, name: str = "c", **spec: Any) -> Cluster:
        return await self.client.create(Cluster(metadata=self.named(name), spec=ClusterSpec(**spec)))

    async def kubeconfig(self, workload: Environment, cluster: str = "c") -> None:
        """Tell where the workload cluster is."""
        labels = {"cluster.x-k8s.io/cluster-name": cluster}
        metadata = ObjectMeta(name=f"{cluster}-kubeconfig", namespace=self.namespace, labels=labels)
        await self.client.create(
            Secret(metadata=metadata, data={"value": to_yaml(workload.server.kubeconfig()).encode()})
        )

    async def moved(self, server: str, cluster: str = "c") -> None:
        """Have the kubeconfig name another place, and the connection end."""
        assert self.clusters is not None
        secret = await self.client.get(Secret, f"{cluster}-kubeconfig", self.namespace)
        (kubeconfig,) = load_yaml(secret.data["value"])
        kubeconfig["clusters"][0]["cluster"]["server"] = server
        ended = asyncio.Event()
        unlisten = self.clusters.listen(lambda changed: ended.set())
        async with self.client.edit(secret) as draft:
            draft.data["value"] = to_yaml(kubeconfig).encode()
        await ended.wait()
        unlisten()


def ref(kind: type[Resource], name: str) -> ContractReference:
    return ContractReference(api_group=kind.__resource__.group, kind=kind.__name__, name=name)


def condition(obj: Any, type: str) -> Condition:
    found = find(obj.status.conditions, type)
    assert found is not None, f"there is no condition {type}"
    return found


def a_node(name: str = "n", provider_id: str = PROVIDER_ID, ready: str = "True") -> Node:
    healthy = [NodeCondition(type=type, status="False") for type in ("MemoryPressure", "DiskPressure", "PIDPressure")]
    info = NodeSystemInfo(
        machine_id="i",
        system_uuid="u",
        boot_id="b",
        kernel_version="6",
        os_image="o",
        container_runtime_version="c",
        kubelet_version="v1.36.0",
        kube_proxy_version="",
        operating_system="linux",
        architecture="amd64",
    )
    return Node(
        metadata=ObjectMeta(name=name),
        spec=NodeSpec(
            provider_id=provider_id, taints=[Taint(key="node.cluster.x-k8s.io/uninitialized", effect="NoSchedule")]
        ),
        status=NodeStatus(conditions=[NodeCondition(type="Ready", status=ready), *healthy], node_info=info),
    )


@pytest.fixture
async def world(env: Environment) -> AsyncIterator[World]:
    """Core's controllers, running."""
    async for world in a_world(env):
        yield world


async def a_world(env: Environment) -> AsyncIterator[World]:
    """Core's controllers, running in an environment until the next is asked for."""
    await env.install(*CORE, *PROVIDERS)
    world = World(env, await env.namespace())
    manager = Manager(env.config, ManagerOptions(scopes=SCOPES, namespaces=(world.namespace,)))
    world.clusters = add_controllers(manager)
    # In a task of its own, for a fixture begins in one task and ends in another.
    running = asyncio.create_task(manager.start())
    await manager.wait_started()
    yield world
    manager.stop()
    await running


@pytest.fixture
async def workload() -> AsyncIterator[Environment]:
    """A workload cluster."""
    async with an_environment() as environment:
        yield environment


@pytest.fixture
async def cluster(world: World, workload: Environment) -> Cluster:
    """A cluster that is up, with a connection to its workload cluster."""
    await world.provider(GenericCluster, "i", status=PROVISIONED)
    await world.provider(
        GenericControlPlane,
        "p",
        status={"initialization": {"controlPlaneInitialized": True}, "externalManagedControlPlane": True},
    )
    await world.kubeconfig(workload)
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"), control_plane_ref=ref(GenericControlPlane, "p"))
    return await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "RemoteConnectionProbe").status == "True"
    )


@pytest.fixture
async def plant(env: Environment, workload: Environment) -> AsyncIterator[Plant]:
    """A cluster with a connection, and providers that run."""
    from .plant import TEMPLATES, Bootstrapper, Computers, Plant, prepare

    await env.install(*CORE, *PROVIDERS, *TEMPLATES)
    world = World(env, await env.namespace())
    manager = Manager(env.config, ManagerOptions(scopes=SCOPES, namespaces=(world.namespace,)))
    world.clusters = add_controllers(manager)
    manager.add_controller(Bootstrapper())
    manager.add_controller(Computers(workload.client))
    running = asyncio.create_task(manager.start())
    await manager.wait_started()
    await prepare(world, workload)
    yield Plant(world, workload)
    manager.stop()
    await running
