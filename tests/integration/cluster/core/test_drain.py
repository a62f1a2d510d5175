"""The end of a machine whose node has pods and volumes: on either API server as the workload cluster.

The test plays the kubelet: a pod that is being deleted is gone when the test says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, Machine, MachineDrainRule
from kapstan.cluster.api.core.common import DeletionTimeouts
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.cluster.core.machine import drain as draining
from kapstan.k8s.apps_v1 import DaemonSet
from kapstan.k8s.core_v1 import Node, PersistentVolume, Pod
from kapstan.k8s.policy_v1 import PodDisruptionBudget
from kapstan.k8s.storage_v1 import VolumeAttachment
from kapstan.machinery.codec import convert
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment
from kapstan.testing import embedded as an_environment

from .conftest import PROVISIONED, GenericMachine, World, a_node, a_world, condition, ref

CONTAINERS = [{"name": "c", "image": "example.com/none"}]


@pytest.fixture
async def workload(env: Environment) -> Environment:
    """The workload cluster is the server that the test runs on; the management cluster is always an embedded one."""
    return env


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with an_environment() as management:
        async for world in a_world(management):
            yield world


class Leaving:
    """A machine that has become a node, and what runs on it. The node has the name of the pods' namespace."""

    def __init__(self, world: World, workload: Environment, namespace: str) -> None:
        self.world, self.workload, self.namespace = world, workload, namespace

    @property
    def node(self) -> str:
        return self.namespace

    async def pod(self, name: str, **metadata: Any) -> Pod:
        meta = {"name": name, "namespace": self.namespace, **metadata}
        spec = {"nodeName": self.node, "containers": CONTAINERS, "automountServiceAccountToken": False}
        made = await self.workload.client.create(convert({"metadata": meta, "spec": spec}, Pod))
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        return await self.workload.client.patch(made, Patch.merge({"status": status}), subresource="status")

    async def is_leaving(self, name: str) -> Pod:
        return await self.workload.eventually(Pod, name, self.namespace, lambda pod: pod.deleting)

    async def stays(self, name: str) -> bool:
        found = await self.workload.client.find(Pod, name, self.namespace)
        return found is not None and not found.deleting

    async def ends(self, name: str) -> None:
        """What a kubelet does when the containers of a pod have stopped."""
        await self.workload.client.delete(Pod, name, self.namespace, grace_period=0)

    async def delete(self) -> None:
        await self.world.client.delete(Machine, "m", self.world.namespace)

    async def waits(self, reason: str, *texts: str) -> Machine:
        """Wait until the condition Deleting says so."""

        def holds(machine: Machine) -> bool:
            told = condition(machine, "Deleting")
            return told.reason == reason and all(text in told.message for text in texts)

        return await self.world.env.eventually(Machine, "m", self.world.namespace, holds)

    async def gone(self) -> None:
        await self.world.env.gone(Machine, "m", self.world.namespace)
        assert await self.world.client.find(GenericMachine, "m", self.world.namespace) is None
        assert await self.workload.client.find(Node, self.node) is None


async def leaving(
    world: World, workload: Environment, *, annotations: dict[str, str] | None = None, **timeouts: int
) -> Leaving:
    found = Leaving(world, workload, await workload.namespace())
    provider_id = f"test:///{found.node}"
    await world.provider(GenericMachine, "m", spec={"providerID": provider_id}, status=PROVISIONED)
    await workload.client.create(a_node(found.node, provider_id))
    spec = MachineSpec(
        cluster_name="c",
        bootstrap=Bootstrap(data_secret_name="s"),
        infrastructure_ref=ref(GenericMachine, "m"),
        deletion=convert(timeouts, DeletionTimeouts) if timeouts else None,
    )
    metadata = ObjectMeta(name="m", namespace=world.namespace, annotations=annotations or {})
    await world.client.create(Machine(metadata=metadata, spec=spec))
    await world.env.eventually(Machine, "m", world.namespace, lambda m: m.status.node_ref is not None)
    return found


async def a_budget(workload: Environment, namespace: str, **labels: str) -> PodDisruptionBudget:
    """A budget that allows nothing. Where nobody computes its status, the test does."""
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": labels}}
    metadata = {"name": "b", "namespace": namespace}
    made = await workload.client.create(convert({"metadata": metadata, "spec": spec}, PodDisruptionBudget))
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    return await workload.client.patch(made, Patch.merge({"status": status}), subresource="status")


async def test_a_drain_respects_budgets_and_what_belongs_to_the_node(
    world: World, workload: Environment, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods leave by eviction; those of DaemonSets and static ones stay, as they would only come back. What a budget
    forbids is asked for again when it changes."""
    monkeypatch.setattr(draining, "_RETRY", 3600)
    machine = await leaving(world, workload)
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": CONTAINERS}}
    meta = {"name": "d", "namespace": machine.namespace}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    daemons = await workload.client.create(convert({"metadata": meta, "spec": spec}, DaemonSet))
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": daemons.uid, "controller": True}
    await machine.pod("daemon", ownerReferences=[owner])
    await machine.pod("static", annotations={"kubernetes.io/config.mirror": "x"})
    await machine.pod("app", labels={"app": "a"})
    budget = await a_budget(workload, machine.namespace, app="a")

    await machine.delete()
    pod = f"Pod {machine.namespace}/app"
    violated = "cannot evict pod as it would violate the pod's disruption budget."
    await machine.waits("DrainingNode", f"* {pod}: {violated}")
    assert (await workload.client.get(Node, machine.node)).spec.unschedulable
    assert await machine.stays("app")

    await workload.client.delete(budget)
    await machine.is_leaving("app")
    await machine.waits("DrainingNode", f"* {pod}: deletionTimestamp set, but still not removed from the Node")
    assert await world.client.find(GenericMachine, "m", world.namespace) is not None
    await machine.ends("app")
    await machine.gone()
    assert await machine.stays("daemon")
    assert await machine.stays("static")


async def test_pods_leave_in_the_order_of_rules(world: World, workload: Environment, cluster: Cluster) -> None:
    """The lowest order first, each when those before are gone; one is waited for, and one stays."""
    machine = await leaving(world, workload)
    rules = {"first": {"behavior": "Drain", "order": -1}, "kept": {"behavior": "Skip"}}
    for name, drain in rules.items():
        spec = {"drain": drain, "pods": [{"selector": {"matchLabels": {"app": name}}}]}
        meta = {"name": name, "namespace": world.namespace}
        await world.client.create(convert({"metadata": meta, "spec": spec}, MachineDrainRule))
    for name in ("first", "second", "kept"):
        await machine.pod(name, labels={"app": name})
    work = await machine.pod("work", labels={"cluster.x-k8s.io/drain": "wait-completed"})

    await machine.delete()
    await machine.is_leaving("first")
    after = "After above Pods have been removed from the Node,"
    await machine.waits(
        "DrainingNode",
        f"{after} the following Pods will be evicted: {machine.namespace}/second",
        f"{after} waiting for the following Pods to complete without eviction: {machine.namespace}/work",
    )
    assert await machine.stays("second")
    await machine.ends("first")
    await machine.is_leaving("second")
    await machine.ends("second")
    await machine.waits("DrainingNode", f"* Pod {machine.namespace}/work: waiting for completion")
    await workload.client.patch(work, Patch.merge({"status": {"phase": "Succeeded"}}), subresource="status")
    await machine.gone()
    assert await machine.stays("kept")


async def test_drain_and_detachment_are_given_up_when_their_time_is_over(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    machine = await leaving(world, workload, nodeDrainTimeoutSeconds=1, nodeVolumeDetachTimeoutSeconds=1)
    await machine.pod("app", labels={"app": "a"})
    await a_budget(workload, machine.namespace, app="a")
    await attached(workload, machine)
    await machine.delete()
    await machine.waits("DrainingNode")
    await machine.gone()
    assert await machine.stays("app")


async def test_a_cluster_that_cannot_be_reached_is_waited_for_as_long_as_a_drain_may_take(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    machine = await leaving(
        world, workload, nodeDrainTimeoutSeconds=3, nodeVolumeDetachTimeoutSeconds=1, nodeDeletionTimeoutSeconds=1
    )
    await world.moved("https://127.0.0.1:1")
    await machine.delete()
    await machine.waits("DrainingNode", "Waiting: there is no connection to the workload cluster")
    await world.env.gone(Machine, "m", world.namespace)
    assert await world.client.find(GenericMachine, "m", world.namespace) is None
    assert await workload.client.find(Node, machine.node) is not None, "nobody could reach it"


async def test_pods_of_an_unreachable_node_are_not_waited_for(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """No kubelet will ever say that they have ended."""
    machine = await leaving(world, workload)
    await machine.pod("app")
    told = [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped"}]
    node = await workload.client.get(Node, machine.node)
    await workload.client.patch(node, Patch.strategic({"status": {"conditions": told}}), subresource="status")
    await machine.delete()
    left = await machine.is_leaving("app")
    assert left.metadata.deletion_grace_period_seconds == 1
    await machine.gone()
    assert await workload.client.find(Pod, "app", machine.namespace) is not None


async def test_volumes_are_detached_before_the_computer_goes(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    machine = await leaving(world, workload)
    attachment = await attached(workload, machine)
    await machine.delete()
    claim = f"* PersistentVolumeClaims: {machine.namespace}/claim"
    await machine.waits("WaitingForVolumeDetach", "Waiting for Node volumes to be detached", claim)
    assert await world.client.find(GenericMachine, "m", world.namespace) is not None
    await workload.client.delete(attachment)
    await machine.gone()


async def test_a_hook_holds_up_the_drain_and_annotations_leave_it_out(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """Until the hook is taken away the node is not touched; then it goes with all that is on it."""
    hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/test"
    excluded = ("exclude-node-draining", "exclude-wait-for-node-volume-detach")
    annotations = {hook: "", **{f"machine.cluster.x-k8s.io/{name}": "" for name in excluded}}
    machine = await leaving(world, workload, annotations=annotations)
    await machine.pod("app")
    await attached(workload, machine)
    await machine.delete()
    found = await machine.waits("WaitingForPreDrainHook", f"Waiting for pre-drain hooks to succeed (hooks: {hook})")
    assert not (await workload.client.get(Node, machine.node)).spec.unschedulable
    await world.client.patch(found, Patch.merge({"metadata": {"annotations": {hook: None}}}))
    await machine.gone()
    assert await machine.stays("app")


async def attached(workload: Environment, machine: Leaving) -> VolumeAttachment:
    """A volume that is attached to the node."""
    name = f"v-{machine.namespace}"
    claim = {"kind": "PersistentVolumeClaim", "namespace": machine.namespace, "name": "claim"}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "test.example.com", "volumeHandle": name},
        "claimRef": claim,
    }
    await workload.client.create(convert({"metadata": {"name": name}, "spec": volume}, PersistentVolume))
    spec = {"attacher": "test.example.com", "nodeName": machine.node, "source": {"persistentVolumeName": name}}
    made = await workload.client.create(convert({"metadata": {"name": name}, "spec": spec}, VolumeAttachment))
    return await workload.client.patch(made, Patch.merge({"status": {"attached": True}}), subresource="status")
