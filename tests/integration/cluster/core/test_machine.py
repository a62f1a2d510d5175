"""The Machine controller, with providers played by the test and nodes in a real workload cluster."""

from __future__ import annotations

from typing import Any

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment

from .conftest import PROVIDER_ID, PROVISIONED, GenericConfig, GenericMachine, World, a_node, condition, ref

BOOTSTRAPPED = {"initialization": {"dataSecretCreated": True}, "dataSecretName": "s"}


def a_machine(world: World, **changes: Any) -> Machine:
    metadata = changes.pop("metadata", None) or world.named("m")
    spec = MachineSpec(
        cluster_name="c",
        bootstrap=Bootstrap(config_ref=ref(GenericConfig, "b")),
        infrastructure_ref=ref(GenericMachine, "m"),
        version="v1.36.0",
        **changes,
    )
    return Machine(metadata=metadata, spec=spec)


async def machine_when(world: World, holds: Any, name: str = "m") -> Machine:
    return await world.env.eventually(Machine, name, world.namespace, holds)


async def running(world: World, workload: Environment, **changes: Any) -> Machine:
    """A machine that has become a node."""
    await world.provider(GenericConfig, "b", status=BOOTSTRAPPED)
    await world.provider(GenericMachine, "m", spec={"providerID": PROVIDER_ID}, status=PROVISIONED)
    await workload.client.create(a_node())
    await world.client.create(a_machine(world, **changes))
    return await machine_when(world, lambda m: condition(m, "Ready").status == "True")


async def test_a_machine_becomes_a_node(world: World, workload: Environment, cluster: Cluster) -> None:
    """Bootstrap data, computer, node: each step when a provider or the node says so."""
    await world.client.create(
        a_machine(
            world,
            metadata=ObjectMeta(
                name="m",
                namespace=world.namespace,
                labels={"node-role.kubernetes.io/worker": "", "unrelated": "x"},
                annotations={"x.node.cluster.x-k8s.io/note": "y"},
            ),
        )
    )
    machine = await machine_when(world, lambda m: m.status.phase == "Pending")
    assert condition(machine, "BootstrapConfigReady").message == "GenericConfig does not exist"
    assert machine.metadata.labels["cluster.x-k8s.io/cluster-name"] == "c"
    assert [owner.kind for owner in machine.metadata.owner_references] == ["Cluster"]
    assert machine.metadata.finalizers == ["machine.cluster.x-k8s.io"]

    await world.provider(GenericConfig, "b", status=BOOTSTRAPPED)
    machine = await machine_when(world, lambda m: m.status.phase == "Provisioning")
    assert machine.spec.bootstrap.data_secret_name == "s"

    infra = await world.provider(GenericMachine, "m")
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    await world.says(infra, {**PROVISIONED, "addresses": addresses}, spec={"providerID": PROVIDER_ID})
    machine = await machine_when(world, lambda m: m.status.phase == "Provisioned")
    assert machine.spec.provider_id == PROVIDER_ID
    assert machine.status.addresses[0].address == "10.0.0.1"
    waiting = condition(machine, "NodeHealthy")
    assert waiting.message == f"Waiting for a Node with spec.providerID {PROVIDER_ID} to exist"

    await workload.client.create(a_node())
    machine = await machine_when(
        world, lambda m: m.status.phase == "Running" and condition(m, "Available").status == "True"
    )
    assert machine.status.node_ref is not None and machine.status.node_ref.name == "n"
    assert machine.status.node_info is not None and machine.status.node_info.kubelet_version == "v1.36.0"

    node = await workload.client.get(Node, "n")
    assert node.metadata.labels["node-role.kubernetes.io/worker"] == ""
    assert "unrelated" not in node.metadata.labels
    assert node.metadata.annotations["cluster.x-k8s.io/machine"] == "m"
    assert node.metadata.annotations["x.node.cluster.x-k8s.io/note"] == "y"
    assert "node.cluster.x-k8s.io/uninitialized" not in [taint.key for taint in node.spec.taints]
    owners = (await world.client.get(GenericMachine, "m", world.namespace)).metadata.owner_references
    assert [(owner.kind, owner.controller) for owner in owners] == [("Machine", True)]


async def test_a_machine_follows_its_node(world: World, workload: Environment, cluster: Cluster) -> None:
    await running(world, workload)
    node = await workload.client.get(Node, "n")
    conditions = [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped"}]
    await workload.client.patch(node, Patch.strategic({"status": {"conditions": conditions}}), subresource="status")
    machine = await machine_when(world, lambda m: condition(m, "NodeReady").status == "Unknown")
    assert condition(machine, "Ready").message == "* NodeHealthy:\n  * Node.Ready: Kubelet stopped"
    await workload.client.delete(node)
    machine = await machine_when(world, lambda m: condition(m, "NodeReady").reason == "NodeDeleted")
    assert condition(machine, "NodeHealthy").message == "Node n has been deleted while the Machine still exists"


async def test_labels_follow_the_machine(world: World, workload: Environment, cluster: Cluster) -> None:
    """What the machine no longer has, the node loses; what came from elsewhere stays."""
    machine = await running(world, workload)
    label = "node.cluster.x-k8s.io/pool"
    node = await workload.client.get(Node, "n")
    await workload.client.patch(node, Patch.merge({"metadata": {"labels": {"mine": "x"}}}))
    await world.client.patch(machine, Patch.merge({"metadata": {"labels": {label: "a"}}}))
    await workload.eventually(Node, "n", "", lambda n: n.metadata.labels.get(label) == "a")
    await world.client.patch(machine, Patch.merge({"metadata": {"labels": {label: None}}}))
    node = await workload.eventually(Node, "n", "", lambda n: label not in n.metadata.labels)
    assert node.metadata.labels["mine"] == "x"


async def test_a_computer_of_another_machine_is_neither_believed_nor_deleted(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """Two machines refer to the same: it belongs to the first, and the end of the second does not touch it."""
    await running(world, workload)
    await world.client.create(a_machine(world, metadata=world.named("second")))
    second = await machine_when(world, lambda m: bool(m.status.conditions), "second")
    said = condition(second, "InfrastructureReady")
    assert said.status == "Unknown" and "already controlled by Machine 'm'" in said.message
    assert second.spec.provider_id is None
    await world.client.delete(second)
    await world.env.gone(Machine, "second", world.namespace)
    for kind, name in ((GenericMachine, "m"), (GenericConfig, "b")):
        assert not (await world.client.get(kind, name, world.namespace)).deleting
    assert await workload.client.find(Node, "n") is not None


async def test_a_machine_is_deleted_in_order(world: World, workload: Environment, cluster: Cluster) -> None:
    """Hooks, computer, bootstrap object, node."""
    hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/test"
    metadata = ObjectMeta(name="m", namespace=world.namespace, annotations={hook: ""})
    machine = await running(world, workload, metadata=metadata)
    infra = await world.client.get(GenericMachine, "m", world.namespace)
    await world.client.patch(infra, Patch.merge({"metadata": {"finalizers": ["test.example.com/hold"]}}))
    await world.client.delete(machine)

    machine = await machine_when(world, lambda m: condition(m, "Deleting").reason == "WaitingForPreTerminateHook")
    assert condition(machine, "Deleting").message == f"Waiting for pre-terminate hooks to succeed (hooks: {hook})"
    assert (await workload.client.get(Node, "n")).spec.unschedulable
    await world.client.patch(machine, Patch.merge({"metadata": {"annotations": {hook: None}}}))

    await machine_when(world, lambda m: condition(m, "Deleting").reason == "WaitingForInfrastructureDeletion")
    assert await world.client.find(GenericConfig, "b", world.namespace) is not None
    assert await workload.client.find(Node, "n") is not None
    await world.client.patch(infra, Patch.merge({"metadata": {"finalizers": None}}))

    await world.env.gone(Machine, "m", world.namespace)
    assert await world.client.find(GenericConfig, "b", world.namespace) is None
    assert await workload.client.find(Node, "n") is None
