"""The MachineDeployment controller: rollouts of machines that become nodes of a workload cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from kapstan.client import Patch
from kapstan.cluster.api.core import Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.core.common import TemplateMetadata
from kapstan.cluster.skeleton.labels import DISABLE_MACHINE_CREATE, REVISION
from kapstan.machinery.conditions import is_true
from kapstan.machinery.meta import Time

from .conftest import condition
from .plant import Plant


def settled(count: int, version: str = "v1.36.0") -> Any:
    """All machines are as wanted, and no others are there."""

    def holds(found: MachineDeployment) -> bool:
        status = found.status
        current = [(one.version, one.replicas) for one in status.versions]
        same = status.replicas == status.available_replicas == status.up_to_date_replicas == count
        return same and (not count or current == [(version, count)]) and bool(status.observed_generation)

    return holds


async def sets(plant: Plant) -> list[MachineSet]:
    return list(await plant.client.list(MachineSet, plant.namespace))


async def new_version(plant: Plant, version: str = "v1.36.1") -> None:
    """A template of its own: nodes say which version they run by what their template says."""
    await plant.template(version, version=version)
    refs = {
        "bootstrap": {"configRef": {"name": version}},
        "infrastructureRef": {"name": version},
        "version": version,
    }
    await plant.client.patch_named(
        MachineDeployment, "d", plant.namespace, Patch.merge({"spec": {"template": {"spec": refs}}})
    )


@asynccontextmanager
async def bounded(plant: Plant, *, least: int, most: int) -> AsyncIterator[None]:
    """Machines are counted after each change: never fewer available, never more in all."""
    seen: list[tuple[int, int]] = []

    async def watch() -> None:
        machines: dict[str, Machine] = {}
        async for event in plant.client.watch(Machine, plant.namespace):
            machine = event.object
            if event.type == "DELETED":
                machines.pop(machine.name, None)
            elif event.type in ("ADDED", "MODIFIED"):
                machines[machine.name] = machine
            available = sum(
                is_true(one.status.conditions, "Available") for one in machines.values() if not one.deleting
            )
            seen.append((available, len(machines)))

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    known = next(index for index, (available, _) in enumerate(seen) if available >= least)
    assert min(available for available, _ in seen[known:]) >= least
    assert max(count for _, count in seen) <= most


async def test_a_deployment_makes_machines(plant: Plant) -> None:
    await plant.template()
    await plant.deployment(annotations={"mine": "x"})
    deployment = await plant.deployment_when(settled(3))
    assert deployment.metadata.finalizers == ["cluster.x-k8s.io/machinedeployment"]
    assert [(owner.kind, owner.controller) for owner in deployment.metadata.owner_references] == [("Cluster", None)]
    assert deployment.metadata.annotations["machinedeployment.clusters.x-k8s.io/revision"] == "1"
    assert deployment.status.selector == "cluster.x-k8s.io/cluster-name=c,cluster.x-k8s.io/deployment-name=d"
    assert deployment.status.phase == "Running"
    for type, status in {"Available": "True", "RollingOut": "False", "MachinesUpToDate": "True"}.items():
        assert condition(deployment, type).status == status
    (machine_set,) = await sets(plant)
    assert machine_set.name.startswith("d-") and machine_set.metadata.annotations["mine"] == "x"
    identity = machine_set.metadata.labels["machine-template-hash"]
    assert machine_set.spec.selector.match_labels is not None
    assert machine_set.spec.selector.match_labels["machine-template-hash"] == identity
    assert [(owner.kind, owner.controller) for owner in machine_set.metadata.owner_references] == [
        ("MachineDeployment", True)
    ]
    machine = (await plant.machines())[0]
    assert machine.metadata.labels["cluster.x-k8s.io/deployment-name"] == "d"
    assert machine.metadata.labels["machine-template-hash"] == identity


async def test_machines_of_no_certain_version_are_up_to_date(plant: Plant) -> None:
    """Whatever their kubelets are: a rollout that nothing can end would be told of for ever."""
    await plant.template()
    template = plant.machine_template()
    template.spec.version = None
    await plant.deployment(replicas=1, template=template)
    deployment = await plant.deployment_when(lambda found: found.status.up_to_date_replicas == 1)
    assert condition(deployment, "RollingOut").status == "False"


async def test_a_rolling_update(plant: Plant) -> None:
    """One machine more, none fewer, at every step; at its end the old set is gone."""
    await plant.template()
    await plant.deployment()
    await plant.deployment_when(settled(3))
    before = {machine.name for machine in await plant.machines()}
    (old,) = await sets(plant)
    async with bounded(plant, least=3, most=4):
        await new_version(plant)
        rolling = await plant.deployment_when(lambda found: condition(found, "RollingOut").status == "True")
        assert "* Version v1.36.0, v1.36.1 required" in condition(rolling, "RollingOut").message
        deployment = await plant.deployment_when(settled(3, "v1.36.1"))
    assert deployment.metadata.annotations["machinedeployment.clusters.x-k8s.io/revision"] == "2"
    assert not before & {machine.name for machine in await plant.machines()}
    await plant.world.env.gone(MachineSet, old.name, plant.namespace)


async def test_a_rollout_without_surge(plant: Plant) -> None:
    await plant.template()
    rolling = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
    await plant.deployment(rollout=rolling)
    await plant.deployment_when(settled(3))
    async with bounded(plant, least=2, most=3):
        await new_version(plant)
        await plant.deployment_when(settled(3, "v1.36.1"))


async def test_a_broken_template_does_not_spread(plant: Plant) -> None:
    """New machines that never start stop the rollout; the old template brings the old machines back into use."""
    await plant.template()
    await plant.template("broken", boots=False)
    await plant.deployment(replicas=2)
    await plant.deployment_when(settled(2))
    before = {machine.name for machine in await plant.machines()}
    async with bounded(plant, least=2, most=3):
        spec = {"infrastructureRef": {"name": "broken"}}
        patch = Patch.merge({"spec": {"template": {"spec": spec}}})
        await plant.client.patch_named(MachineDeployment, "d", plant.namespace, patch)
        await plant.deployment_when(lambda found: found.status.replicas == 3)
        spec["infrastructureRef"]["name"] = "t"
        await plant.client.patch_named(MachineDeployment, "d", plant.namespace, patch)
        deployment = await plant.deployment_when(settled(2))
    assert {machine.name for machine in await plant.machines()} == before
    assert deployment.metadata.annotations["machinedeployment.clusters.x-k8s.io/revision"] == "3"


async def test_on_delete(plant: Plant) -> None:
    """Old machines stay until somebody deletes them."""
    await plant.template()
    await plant.deployment(replicas=2, rollout={"strategy": {"type": "OnDelete"}})
    await plant.deployment_when(settled(2))
    old = await plant.machines()
    await new_version(plant)
    await plant.deployment_when(lambda found: condition(found, "RollingOut").status == "True")
    told = [found.metadata.annotations for found in await sets(plant)]
    assert [annotations[DISABLE_MACHINE_CREATE] for annotations in told if annotations[REVISION] == "1"] == ["true"]
    for machine in old:
        await plant.client.delete(machine)
        await plant.world.env.gone(Machine, machine.name, plant.namespace)
        await plant.deployment_when(lambda found: found.status.available_replicas == 2)
    await plant.deployment_when(settled(2, "v1.36.1"))


async def test_changes_in_place(plant: Plant) -> None:
    """Labels, annotations and time-outs reach machines, which stay."""
    await plant.template()
    metadata = TemplateMetadata(labels={"tier": "x"})
    await plant.deployment(replicas=1, annotations={"mine": "x"}, template=plant.machine_template(metadata=metadata))
    deployment = await plant.deployment_when(settled(1))
    (machine,) = await plant.machines()
    change = {
        "metadata": {"annotations": {"mine": None, "yours": "y"}},
        "spec": {
            "template": {
                "metadata": {"labels": {"tier": None, "pool": "b"}},
                "spec": {"deletion": {"nodeDrainTimeoutSeconds": 9}},
            },
        },
    }
    await plant.client.patch(deployment, Patch.merge(change))
    found = await plant.world.env.eventually(
        Machine, machine.name, plant.namespace, lambda found: found.metadata.labels.get("pool") == "b"
    )
    assert found.uid == machine.uid and "tier" not in found.metadata.labels
    assert found.spec.deletion is not None and found.spec.deletion.node_drain_timeout_seconds == 9
    (machine_set,) = await sets(plant)
    machine_set = await plant.set_when(lambda one: one.metadata.annotations.get("yours") == "y", machine_set.name)
    assert "mine" not in machine_set.metadata.annotations and "tier" not in machine_set.metadata.labels


async def test_a_rollout_can_be_asked_for(plant: Plant) -> None:
    await plant.template()
    await plant.deployment(replicas=1)
    deployment = await plant.deployment_when(settled(1))
    (before,) = await plant.machines()
    created = (await sets(plant))[0].metadata.creation_timestamp
    assert created is not None
    after: Time = max(created + timedelta(seconds=1), datetime.now(UTC))
    await plant.client.patch(deployment, Patch.merge({"spec": {"rollout": {"after": after.isoformat()}}}))
    await plant.world.env.gone(Machine, before.name, plant.namespace)
    await plant.deployment_when(settled(1))


async def test_a_paused_deployment_is_only_scaled(plant: Plant) -> None:
    await plant.template()
    await plant.deployment(replicas=1)
    deployment = await plant.deployment_when(settled(1))
    (before,) = await plant.machines()
    await plant.client.patch(deployment, Patch.merge({"spec": {"paused": True}}))
    await new_version(plant)
    await plant.client.scale(deployment, replicas=2)
    deployment = await plant.deployment_when(lambda found: found.status.available_replicas == 2)
    assert before.name in {machine.name for machine in await plant.machines()}
    assert len(await sets(plant)) == 1
    await plant.client.patch(deployment, Patch.merge({"spec": {"paused": None}}))
    await plant.deployment_when(settled(2, "v1.36.1"))


async def test_a_deployment_is_scaled_and_deleted(plant: Plant) -> None:
    await plant.template()
    await plant.deployment(replicas=1)
    deployment = await plant.deployment_when(settled(1))
    await plant.client.scale(deployment, replicas=3)
    await plant.deployment_when(settled(3))
    await plant.client.scale(deployment, replicas=0)
    await plant.deployment_when(settled(0))
    await plant.client.scale(deployment, replicas=2)
    deployment = await plant.deployment_when(settled(2))
    await plant.client.delete(deployment)
    await plant.world.env.gone(MachineDeployment, "d", plant.namespace)
    assert await sets(plant) == [] and await plant.machines() == []
