"""What the computer of a machine does, whoever provides it."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.contract.objects import InfraMachine
from kapstan.cluster.contract.version import Contract

from .core import Core, condition, is_paused, provisioned
from .providers import INFRA_MACHINES, Sample

pytestmark = pytest.mark.parametrize("provider", INFRA_MACHINES, ids=str)


@pytest.fixture
def sample(core: Core) -> Sample:
    assert core.provider.infra_machine is not None
    return core.provider.infra_machine


async def a_cluster(core: Core) -> Cluster:
    """A cluster whose infrastructure is there. Whose kind that is, is no business of a computer's."""
    cluster = await core.cluster()
    await core.infrastructure_provisioned(cluster)
    return cluster


async def owned(core: Core, sample: Sample, name: str = "m") -> tuple[Any, Machine]:
    """A computer that core has adopted, with bootstrap data."""
    infra = await core.sample(sample, name, labels={"cluster.x-k8s.io/cluster-name": "c"})
    machine = await core.machine(infra, name)
    await core.owns(machine, infra, controller=True)
    await core.bootstrapped(machine)
    return infra, machine


async def test_it_waits_for_all_that_it_needs_and_is_then_provisioned(core: Core, sample: Sample) -> None:
    """Its owner, the infrastructure of its cluster, its bootstrap data; then it is told in a way core understands."""
    async with core.running():
        cluster = await core.cluster()
        infra = await core.sample(sample, "m")
        machine = await core.machine(infra)
        await core.settled(infra)
        assert not (await core.document(infra))["metadata"].get("finalizers")
        await core.owns(machine, infra, controller=True)
        await core.bootstrapped(machine)
        await core.settled(infra)
        assert not provisioned(await core.document(infra)), "before the infrastructure of its cluster is"
        await core.infrastructure_provisioned(cluster)
        found = await core.when(infra, provisioned)
        assert found["metadata"]["finalizers"]
        assert condition(found, "Ready") in ("True", "")
        view = InfraMachine(found, Contract("v1beta2", infra.__resource__.version))
        assert view.provisioned
        assert "://" in view.provider_id
        assert all(one.address for one in view.addresses)


async def test_it_does_not_begin_without_bootstrap_data(core: Core, sample: Sample) -> None:
    async with core.running():
        await a_cluster(core)
        infra = await core.sample(sample, "m", labels={"cluster.x-k8s.io/cluster-name": "c"})
        machine = await core.machine(infra)
        await core.owns(machine, infra, controller=True)
        await core.settled(infra)
        waiting = await core.document(infra)
        assert not provisioned(waiting)
        assert "providerID" not in waiting["spec"]
        await core.bootstrapped(machine)
        await core.when(infra, provisioned)


async def test_no_two_are_the_same_computer(core: Core, sample: Sample) -> None:
    async with core.running():
        await a_cluster(core)
        infra, _ = await owned(core, sample, "m")
        other, _ = await owned(core, sample, "n")
        found, same = await core.when(infra, provisioned), await core.when(other, provisioned)
        assert found["spec"]["providerID"] != same["spec"]["providerID"]


async def test_a_paused_one_is_left_alone(core: Core, sample: Sample) -> None:
    async with core.running():
        await core.infrastructure_provisioned(await core.cluster(paused=True))
        infra, _ = await owned(core, sample)
        found = await core.when(infra, is_paused)
        assert not provisioned(found)
        await core.pause(infra)
        cluster = await core.client.get(Cluster, "c", core.namespace)
        await core.client.patch(cluster, Patch.merge({"spec": {"paused": False}}))
        await core.settled(infra)
        found = await core.document(infra)
        assert is_paused(found)
        assert not provisioned(found)
        await core.pause(infra, on=False)
        found = await core.when(infra, provisioned)
        assert not is_paused(found)


async def test_a_restart_changes_nothing(core: Core, sample: Sample) -> None:
    async with core.running():
        await a_cluster(core)
        infra, _ = await owned(core, sample)
        await core.when(infra, provisioned)
        before = await core.settled(infra)
    async with core.running():
        assert await core.settled(infra) == before


async def test_a_moved_one_is_the_same_computer(core: Core, sample: Sample) -> None:
    """An object that has been moved to another management cluster arrives without its status, and with another uid."""
    async with core.running():
        await a_cluster(core)
        infra, machine = await owned(core, sample)
        before = await core.when(infra, provisioned)
    await core.client.patch(infra, Patch.merge({"metadata": {"finalizers": None}}))
    await core.client.delete(infra)
    await core.gone(infra)
    metadata = {key: before["metadata"][key] for key in ("name", "namespace", "labels", "finalizers")}
    moved = await core.client.create({**before, "metadata": metadata, "status": {}})
    assert moved["metadata"]["uid"] != before["metadata"]["uid"]
    await core.owns(machine, infra, controller=True)
    async with core.running():
        found = await core.when(infra, provisioned)
        assert found["spec"]["providerID"] == before["spec"]["providerID"]


async def test_it_is_deleted_however_far_it_has_come(core: Core, sample: Sample) -> None:
    """Before it was adopted, while it waits, and after its machine and its cluster have gone."""
    unowned = await core.sample(sample, "y")
    await core.cluster()
    waiting, _ = await owned(core, sample, "w")
    async with core.running():
        await core.client.delete(unowned)
        await core.gone(unowned)
        await core.when(waiting, lambda document: document["metadata"].get("finalizers"))
        await core.client.delete(waiting)
        await core.gone(waiting)
        cluster = await core.client.get(Cluster, "c", core.namespace)
        await core.infrastructure_provisioned(cluster)
        infra, machine = await owned(core, sample)
        await core.when(infra, provisioned)
    for gone in (cluster, infra, machine):
        await core.client.delete(gone)
    async with core.running():
        await core.gone(infra)
