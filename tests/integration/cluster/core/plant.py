"""A plant: a cluster whose machines are made by providers that run, and become nodes of a real workload cluster.

The providers follow the contract as simply as one can. A machine whose template says `boots: false` never starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import field

from kapstan.client import Client, Patch
from kapstan.cluster.api.core import Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec, MachineTemplate
from kapstan.cluster.api.core.machinedeployment import MachineDeploymentSpec, Rollout
from kapstan.cluster.api.core.machineset import MachineSetSpec
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.codec import convert
from kapstan.machinery.markers import PreserveUnknown
from kapstan.machinery.meta import LabelSelector, ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import add_finalizer, remove_finalizer
from kapstan.machinery.scheme import resource
from kapstan.runtime.declaration import controller
from kapstan.runtime.reconcile import Outcome, Reconciler
from kapstan.testing import Environment

from .conftest import (
    CONTRACT,
    GenericCluster,
    GenericConfig,
    GenericControlPlane,
    GenericMachine,
    World,
    a_node,
    ref,
)

Anything = Annotated[dict[str, Any], PreserveUnknown()]
HELD = "generic.example.com/computer"


@resource(group="infrastructure.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericMachineTemplate(Resource):
    """What computers are cloned from."""

    spec: Anything = field(default_factory=dict)


@resource(group="bootstrap.cluster.x-k8s.io", version="v1", labels=CONTRACT)
class GenericConfigTemplate(Resource):
    """What bootstrap configurations are cloned from."""

    spec: Anything = field(default_factory=dict)


TEMPLATES = (GenericMachineTemplate, GenericConfigTemplate)


@controller(GenericConfig)
class Bootstrapper(Reconciler[GenericConfig]):
    """Has the data of a machine ready at once."""

    async def reconcile(self, config: GenericConfig) -> Outcome:
        if not config.deleting and not config.status:
            status = {"initialization": {"dataSecretCreated": True}, "dataSecretName": f"{config.name}-data"}
            await self.client.patch(config, Patch.merge({"status": status}), subresource="status")
        return None


@controller(GenericMachine, max_concurrent_reconciles=10)
class Computers(Reconciler[GenericMachine]):
    """Starts computers, which become nodes at once, and takes them away."""

    def __init__(self, workload: Client) -> None:
        self._workload = workload

    async def reconcile(self, computer: GenericMachine) -> Outcome:
        if computer.deleting:
            async with self.client.edit(computer, optimistic_lock=True) as draft:
                remove_finalizer(draft, HELD)
            return None
        if computer.spec.get("boots") is False or computer.controller_ref() is None or computer.status:
            return None
        provider_id = f"generic:///{computer.namespace}/{computer.name}"
        async with self.client.edit(computer) as draft:
            add_finalizer(draft, HELD)
            draft.spec["providerID"] = provider_id
        if await self._workload.find(Node, computer.name) is None:
            await self._workload.create(self._node(computer, provider_id))
        status = {"initialization": {"provisioned": True}}
        await self.client.patch(computer, Patch.merge({"status": status}), subresource="status")
        return None

    def _node(self, computer: GenericMachine, provider_id: str) -> Node:
        """It runs the version that the template names, if it names one."""
        node = a_node(computer.name, provider_id)
        assert node.status.node_info is not None
        node.status.node_info.kubelet_version = computer.spec.get("version", "v1.36.0")
        return node


async def prepare(world: World, workload: Environment) -> None:
    """Make a cluster `c` that has everything but machines."""
    await world.provider(GenericCluster, "i", status={"initialization": {"provisioned": True}})
    initialized = {"initialization": {"controlPlaneInitialized": True}, "externalManagedControlPlane": True}
    await world.provider(GenericControlPlane, "p", status=initialized)
    await world.kubeconfig(workload)
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"), control_plane_ref=ref(GenericControlPlane, "p"))


class Plant:
    """A cluster `c` that machines can be made in."""

    def __init__(self, world: World, workload: Environment) -> None:
        self.world, self.workload = world, workload

    @property
    def client(self) -> Client:
        return self.world.client

    @property
    def namespace(self) -> str:
        return self.world.namespace

    async def template(self, name: str = "t", **spec: Any) -> None:
        """Make the templates of that name: of a computer, and of how it starts."""
        computer = {"template": {"metadata": {"labels": {"size": "small"}}, "spec": {"flavor": "m1", **spec}}}
        await self.client.create(GenericMachineTemplate(metadata=self.world.named(name), spec=computer))
        config: dict[str, Any] = {"template": {"spec": {"files": []}}}
        await self.client.create(GenericConfigTemplate(metadata=self.world.named(name), spec=config))

    def machine_template(self, template: str = "t", **changes: Any) -> MachineTemplate:
        metadata = changes.pop("metadata", None)
        spec = MachineSpec(
            cluster_name="c",
            bootstrap=Bootstrap(config_ref=ref(GenericConfigTemplate, template)),
            infrastructure_ref=ref(GenericMachineTemplate, template),
            version="v1.36.0",
            **changes,
        )
        return MachineTemplate(metadata=metadata, spec=spec)

    async def set(self, name: str = "s", replicas: int | None = 3, **changes: Any) -> MachineSet:
        template = changes.pop("template", None) or self.machine_template()
        metadata = changes.pop("metadata", None) or self.world.named(name)
        changes.setdefault("selector", LabelSelector())
        spec = MachineSetSpec(cluster_name="c", replicas=replicas, template=template, **changes)
        return await self.client.create(MachineSet(metadata=metadata, spec=spec))

    async def deployment(self, name: str = "d", replicas: int | None = 3, **changes: Any) -> MachineDeployment:
        template = changes.pop("template", None) or self.machine_template()
        rollout = changes.pop("rollout", None)
        changes.setdefault("selector", LabelSelector())
        return await self.client.create(
            MachineDeployment(
                metadata=ObjectMeta(name=name, namespace=self.namespace, annotations=changes.pop("annotations", {})),
                spec=MachineDeploymentSpec(
                    cluster_name="c",
                    replicas=replicas,
                    template=template,
                    rollout=convert(rollout, Rollout) if rollout is not None else None,
                    **changes,
                ),
            )
        )

    async def set_when(self, holds: Callable[[MachineSet], bool], name: str = "s") -> MachineSet:
        return await self.world.env.eventually(MachineSet, name, self.namespace, holds)

    async def deployment_when(self, holds: Callable[[MachineDeployment], bool], name: str = "d") -> MachineDeployment:
        return await self.world.env.eventually(MachineDeployment, name, self.namespace, holds)

    async def machines(self) -> list[Machine]:
        return list(await self.client.list(Machine, self.namespace))
