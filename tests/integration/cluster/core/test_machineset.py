"""The MachineSet controller, with providers that make machines and a workload cluster that they become nodes of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Machine, MachineHealthCheck, MachineSet
from kapstan.cluster.api.core.common import TemplateMetadata
from kapstan.cluster.api.core.machinehealthcheck import MachineHealthCheckSpec
from kapstan.machinery.meta import LabelSelector, LabelSelectorRequirement

from .conftest import GenericConfig, GenericMachine, condition
from .plant import GenericMachineTemplate, Plant


def available(count: int) -> Any:
    return lambda found: found.status.available_replicas == found.status.replicas == count


async def test_machines_are_made_from_templates(plant: Plant) -> None:
    """Each has its own computer and configuration, which belong to it and say where they came from."""
    await plant.template()
    metadata = TemplateMetadata(labels={"pool": "a"}, annotations={"note": "x"})
    await plant.set(template=plant.machine_template(metadata=metadata))
    machine_set = await plant.set_when(available(3))
    assert machine_set.metadata.finalizers == ["cluster.x-k8s.io/machineset"]
    assert [owner.kind for owner in machine_set.metadata.owner_references] == ["Cluster"]
    assert machine_set.status.selector == "cluster.x-k8s.io/set-name=s"
    assert machine_set.status.ready_replicas == 3
    assert [(one.version, one.replicas) for one in machine_set.status.versions] == [("v1.36.0", 3)]
    assert condition(machine_set, "MachinesReady").status == "True"
    assert condition(machine_set, "ScalingUp").reason == "NotScalingUp"

    machine = (await plant.machines())[0]
    assert (
        machine.metadata.labels.items()
        >= {
            "cluster.x-k8s.io/cluster-name": "c",
            "cluster.x-k8s.io/set-name": "s",
            "pool": "a",
        }.items()
    )
    assert [(owner.kind, owner.controller) for owner in machine.metadata.owner_references] == [("MachineSet", True)]
    assert machine.spec.infrastructure_ref.name == machine.name and machine.name.startswith("s-")
    computer = await plant.client.get(GenericMachine, machine.name, plant.namespace)
    assert computer.spec["flavor"] == "m1"
    assert computer.metadata.labels["size"] == "small" and computer.metadata.labels["pool"] == "a"
    assert computer.metadata.annotations == {
        "note": "x",
        "cluster.x-k8s.io/cloned-from-name": "t",
        "cluster.x-k8s.io/cloned-from-groupkind": "GenericMachineTemplate.infrastructure.cluster.x-k8s.io",
    }
    assert [(owner.kind, owner.uid) for owner in computer.metadata.owner_references] == [("Machine", machine.uid)]
    template = await plant.client.get(GenericMachineTemplate, "t", plant.namespace)
    assert [(owner.kind, owner.controller) for owner in template.metadata.owner_references] == [("Cluster", None)]


async def test_scaling(plant: Plant) -> None:
    """Up and down through the scale subresource; marked machines go first, and no name is used twice."""
    await plant.template()
    await plant.set(replicas=2)
    machine_set = await plant.set_when(available(2))
    first, second = await plant.machines()
    await plant.client.patch(
        second, Patch.merge({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}})
    )
    await plant.client.scale(machine_set, replicas=1)
    await plant.set_when(available(1))
    assert [machine.name for machine in await plant.machines()] == [first.name]
    await plant.client.scale(machine_set, replicas=3)
    machine_set = await plant.set_when(available(3))
    assert second.name not in {machine.name for machine in await plant.machines()}
    scale = await plant.client.get_scale(machine_set)
    assert (scale.spec.replicas, scale.status.replicas) == (3, 3)
    assert len(await plant.client.list(GenericMachine, plant.namespace)) == 3


async def test_a_machine_that_goes_is_replaced(plant: Plant) -> None:
    await plant.template()
    await plant.set(replicas=2)
    await plant.set_when(available(2))
    gone = (await plant.machines())[0]
    await plant.client.delete(gone)
    await plant.world.env.gone(Machine, gone.name, plant.namespace)
    await plant.set_when(available(2))
    names = {machine.name for machine in await plant.machines()}
    assert len(names) == 2 and gone.name not in names


async def test_a_set_waits_for_its_templates(plant: Plant) -> None:
    await plant.set(replicas=1)
    machine_set = await plant.set_when(lambda found: bool(found.status.conditions))
    expected = (
        "Scaling up from 0 to 1 replicas is blocked because:\n"
        "* GenericConfigTemplate and GenericMachineTemplate do not exist"
    )
    assert condition(machine_set, "ScalingUp").message == expected
    await plant.template()
    await plant.set_when(available(1))


async def test_a_machine_whose_parts_are_refused_is_taken_back(plant: Plant) -> None:
    """Nothing half made stays, and nothing is begun again in vain: the set says what the API server has against it."""
    await plant.template()
    template = await plant.client.get(GenericMachineTemplate, "t", plant.namespace)
    labels = {"metadata": {"labels": {"size": "not a label"}}}
    await plant.client.patch(template, Patch.merge({"spec": {"template": labels}}))
    await plant.set(replicas=1)
    blocked = await plant.set_when(
        lambda found: any("a valid label must be" in one.message for one in found.status.conditions)
    )
    said = condition(blocked, "ScalingUp")
    assert said.status == "True" and said.message.startswith("Scaling up from 0 to 1 replicas is blocked because:\n* ")
    assert await plant.machines() == []
    labels["metadata"]["labels"]["size"] = "large"
    await plant.client.patch(template, Patch.merge({"spec": {"template": labels}}))
    await plant.set_when(available(1))
    assert len(await plant.client.list(GenericConfig, plant.namespace)) == 1


async def test_what_a_webhook_would_refuse_is_left_alone(plant: Plant) -> None:
    """Here there are none. A set whose own machines do not match its selector would make machines without end."""
    await plant.template()
    machine_set = await plant.set(name="s", replicas=1, selector=LabelSelector(match_labels={"pool": "a"}))
    await plant.set(name="other", replicas=1)
    await plant.set_when(available(1), "other")
    found = await plant.client.get(MachineSet, "s", plant.namespace)
    assert not found.metadata.finalizers and not found.status.conditions
    assert [machine.name.partition("-")[0] for machine in await plant.machines()] == ["other"]
    fixed = {"template": {"metadata": {"labels": {"pool": "a"}}}}
    await plant.client.patch(machine_set, Patch.merge({"spec": fixed}))
    await plant.set_when(available(1))


async def test_a_selector_that_cannot_be_read_troubles_nobody_else(
    plant: Plant, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever hears of a machine has to ask every set, deployment and health check whether it is theirs."""
    await plant.template()
    unreadable = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Nope")])
    await plant.set(name="a", selector=unreadable)
    await plant.deployment(name="a", selector=unreadable)
    spec = MachineHealthCheckSpec(cluster_name="c", selector=unreadable)
    await plant.client.create(MachineHealthCheck(metadata=plant.world.named("a"), spec=spec))
    await plant.set(replicas=1)
    await plant.set_when(available(1))
    (machine,) = await plant.machines()
    await plant.client.patch(machine, Patch.merge({"metadata": {"ownerReferences": None}}))
    await plant.world.env.eventually(
        Machine, machine.name, plant.namespace, lambda found: found.controller_ref() is not None
    )
    assert "A handler failed" not in caplog.text


async def test_machines_are_adopted_and_released(plant: Plant) -> None:
    """By labels alone: a machine that no longer has them is left alone, and another is made."""
    await plant.template()
    await plant.set(replicas=1)
    await plant.set_when(available(1))
    (machine,) = await plant.machines()
    label = "cluster.x-k8s.io/set-name"
    await plant.client.patch(machine, Patch.merge({"metadata": {"labels": {label: "other"}}}))
    released = await plant.world.env.eventually(
        Machine, machine.name, plant.namespace, lambda found: not found.metadata.owner_references
    )
    async with asyncio.timeout(60), plant.client.watch(Machine, plant.namespace) as events:
        async for event in events:
            if event.object.name != machine.name:
                break
    await plant.set_when(available(1))
    assert len(await plant.machines()) == 2
    await plant.client.patch(released, Patch.merge({"metadata": {"labels": {label: "s"}}}))
    await plant.world.env.eventually(
        Machine, released.name, plant.namespace, lambda found: found.controller_ref() is not None or found.deleting
    )
    await plant.set_when(available(1))


async def test_changes_reach_machines_in_place(plant: Plant) -> None:
    """Labels, annotations and time-outs; what the template loses, machines lose, but not what others have set."""
    await plant.template()
    metadata = TemplateMetadata(labels={"pool": "a", "tier": "x"})
    await plant.set(replicas=1, template=plant.machine_template(metadata=metadata))
    machine_set = await plant.set_when(available(1))
    (machine,) = await plant.machines()
    await plant.client.patch(machine, Patch.merge({"metadata": {"labels": {"mine": "y"}}}))
    change = {
        "metadata": {"labels": {"pool": "b", "tier": None}, "annotations": {"note": "n"}},
        "spec": {"deletion": {"nodeDrainTimeoutSeconds": 7}, "minReadySeconds": 1},
    }
    await plant.client.patch(machine_set, Patch.merge({"spec": {"template": change}}))
    found = await plant.world.env.eventually(
        Machine, machine.name, plant.namespace, lambda found: found.metadata.labels.get("pool") == "b"
    )
    assert "tier" not in found.metadata.labels and found.metadata.labels["mine"] == "y"
    assert found.spec.deletion is not None and found.spec.deletion.node_drain_timeout_seconds == 7
    assert found.spec.min_ready_seconds == 1 and found.uid == machine.uid
    for kind in (GenericMachine, GenericConfig):
        part = await plant.world.env.eventually(
            kind, machine.name, plant.namespace, lambda found: found.metadata.annotations.get("note") == "n"
        )
        assert "tier" not in part.metadata.labels and part.metadata.labels["pool"] == "b"
        assert part.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == "t"
    await plant.set_when(available(1))


async def test_unhealthy_machines_are_replaced(plant: Plant) -> None:
    await plant.template()
    await plant.set(replicas=2)
    await plant.set_when(available(2))
    sick = (await plant.machines())[1]
    since = "2026-01-01T00:00:00Z"
    marks = [
        {"type": type, "status": "False", "reason": "Sick", "message": "", "lastTransitionTime": since}
        for type in ("HealthCheckSucceeded", "OwnerRemediated")
    ]
    operations = [{"op": "add", "path": "/status/conditions/-", "value": mark} for mark in marks]
    await plant.client.patch(sick, Patch.json(operations), subresource="status")
    await plant.world.env.gone(Machine, sick.name, plant.namespace)
    await plant.set_when(available(2))


async def test_the_end_of_a_set_is_that_of_the_machines_that_it_controls(plant: Plant) -> None:
    """Of no other that only looks like one of them, and whatever has become of its selector."""
    await plant.template()
    await plant.set(replicas=1)
    machine_set = await plant.set_when(available(1))
    (machine,) = await plant.machines()
    paused, label = "cluster.x-k8s.io/paused", "cluster.x-k8s.io/set-name"
    await plant.client.patch(machine_set, Patch.merge({"metadata": {"annotations": {paused: ""}}}))
    await plant.set_when(lambda found: condition(found, "Paused").status == "True")
    labels = {label: "s", "cluster.x-k8s.io/cluster-name": "c"}
    alike = Machine(metadata=plant.world.named("alike", **labels), spec=machine.spec.replace(provider_id=None))
    await plant.client.create(alike)
    unreadable = {"matchExpressions": [{"key": "a", "operator": "Nope"}]}
    await plant.client.patch(machine_set, Patch.merge({"spec": {"selector": unreadable}}))
    await plant.client.delete(machine_set)
    await plant.client.patch(machine_set, Patch.merge({"metadata": {"annotations": {paused: None}}}))
    await plant.world.env.gone(MachineSet, "s", plant.namespace)
    assert [(left.name, left.deleting) for left in await plant.machines()] == [("alike", False)]


async def test_a_set_goes_after_its_machines(plant: Plant) -> None:
    await plant.template()
    await plant.set(replicas=2)
    machine_set = await plant.set_when(available(2))
    await plant.client.delete(machine_set)
    await plant.world.env.gone(MachineSet, "s", plant.namespace)
    assert await plant.machines() == []
    assert await plant.client.list(GenericMachine, plant.namespace) == []
