"""Simulated infrastructure follows the contract like any provider, and its computers behave as they are told to."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.integration.cluster.simulated.conftest import CLUSTER_NAME, Site

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.cluster import APIEndpoint, FailureDomain
from kapstan.cluster.api.core.machine import Bootstrap
from kapstan.cluster.api.infrastructure import SimulatedCluster, SimulatedMachine, SimulatedMachineTemplate
from kapstan.cluster.api.infrastructure.simulatedcluster import SimulatedClusterSpec
from kapstan.cluster.api.infrastructure.simulatedmachine import Failure, SimulatedMachineSpec
from kapstan.cluster.api.infrastructure.timing import Timing
from kapstan.cluster.infrastructure.simulated.machine import boot
from kapstan.cluster.management.following import is_available
from kapstan.k8s.core_v1 import Node, Secret
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.conditions import find, is_true
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import Quantity

HOUR = Timing(delay_seconds=3600)
HOUR_LONG = timedelta(hours=1)


def says(type: str, status: str, reason: str = "") -> Any:
    """A condition with that status, and that reason."""

    def holds(obj: Any) -> bool:
        found = find(obj.status.conditions, type)
        return found is not None and found.status == status and reason in ("", found.reason)

    return holds


def running(machine: Machine) -> bool:
    return machine.status.phase == "Running" and is_true(machine.status.conditions, "Ready")


async def test_a_machine_becomes_a_node_and_goes_again(site: Site) -> None:
    await site.cluster()
    await site.machine("m", version="v1.36.3", failure_domain="a")
    machine = await site.eventually(Machine, "m", running)
    computer = await site.client.get(SimulatedMachine, "m", site.namespace)
    assert computer.spec.provider_id == machine.spec.provider_id == f"simulated://{computer.uid}"
    assert machine.status.failure_domain == "a"
    async with site.workload() as workload:
        node = await workload.get(Node, "m")
        assert node.spec.provider_id == computer.spec.provider_id
        assert node.metadata.labels["topology.kubernetes.io/zone"] == "a"
        assert node.status.capacity["pods"] == Quantity("110")
        assert {one.address for one in node.status.addresses} >= {one.address for one in machine.status.addresses}
        await site.client.delete(Machine, "m", site.namespace)
        await site.gone(Machine, "m")
        assert await workload.find(Node, "m") is None
    await site.gone(SimulatedMachine, "m")


async def test_a_cluster_is_available_and_leaves_nothing_behind(site: Site) -> None:
    await site.cluster()
    for name in ("m-0", "m-1", "m-2"):
        await site.machine(name)
    await site.eventually(Cluster, "c", lambda c: is_available(c) and c.status.workers.available_replicas == 3)
    await site.client.delete(Cluster, "c", site.namespace)
    await site.gone(Cluster, "c")
    for kind in (Machine, SimulatedMachine, SimulatedCluster):
        assert not await site.client.list(kind, site.namespace)
    if site.env.name == "embedded":  # a garbage collector is what takes these; the real server here has none
        await site.gone(Secret, "c-bootstrap")
        assert not await site.client.list(Secret, site.namespace)


async def test_bootstrap_data_is_waited_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Secret with the cluster's label wakes whoever waits for it; nobody looks for it."""
    monkeypatch.setattr(boot, "_LOOK_AGAIN", HOUR_LONG)
    await site.cluster()
    await site.machine("m", bootstrap=Bootstrap(data_secret_name="later"))
    waiting = await site.eventually(SimulatedMachine, "m", says("Ready", "False", "WaitingForBootstrapData"))
    assert "Secret later with bootstrap data does not exist" in to_yaml(waiting)
    later = site.named("later", **{CLUSTER_NAME: "c"})
    await site.client.create(Secret(metadata=later, data={"value": b""}))
    await site.eventually(Machine, "m", running)


async def test_bootstrap_data_that_nobody_labelled_are_found(site: Site) -> None:
    await site.cluster()
    await site.machine("m", bootstrap=Bootstrap(data_secret_name="later"))
    await site.eventually(SimulatedMachine, "m", says("Ready", "False", "WaitingForBootstrapData"))
    await site.client.create(Secret(metadata=site.named("later"), data={"value": b""}))
    await site.eventually(Machine, "m", running)


async def test_infrastructure_of_the_cluster_is_waited_for(site: Site) -> None:
    await site.cluster(spec=SimulatedClusterSpec(provisioning=HOUR))
    await site.machine("m")
    await site.eventually(SimulatedCluster, "c", says("Ready", "False", "Provisioning"))
    await site.eventually(SimulatedMachine, "m", says("Ready", "False", "WaitingForClusterInfrastructureReady"))


async def test_an_endpoint_and_failure_domains_are_offered(site: Site) -> None:
    """The endpoint is copied by core, whoever has the control plane."""
    spec = SimulatedClusterSpec(
        control_plane_endpoint=APIEndpoint(host="10.0.0.1", port=6443),
        failure_domains=[FailureDomain(name="a", control_plane=True), FailureDomain(name="b")],
    )
    await site.client.create(SimulatedCluster(metadata=site.named("c"), spec=spec))
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedCluster", "name": "c"}
    document = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {"infrastructureRef": ref}}
    await site.client.create(document | {"metadata": {"name": "c", "namespace": site.namespace}})
    cluster = await site.eventually(Cluster, "c", lambda c: c.spec.control_plane_endpoint is not None)
    assert cluster.spec.control_plane_endpoint == APIEndpoint(host="10.0.0.1", port=6443)
    cluster = await site.eventually(Cluster, "c", lambda c: c.status.failure_domains)
    assert [one.name for one in cluster.status.failure_domains] == ["a", "b"]


async def test_what_boots_takes_its_time(site: Site) -> None:
    await site.cluster()
    await site.machine("slow", spec=SimulatedMachineSpec(boot=HOUR))
    await site.machine("quick", spec=SimulatedMachineSpec(boot=Timing(delay_seconds=1, jitter_percent=50)))
    await site.eventually(Machine, "quick", running)
    slow = await site.eventually(SimulatedMachine, "slow", says("Ready", "False", "Booting"))
    assert slow.spec.provider_id is None and slow.status.initialization is None


async def test_what_fails_fails_as_it_is_told_to(site: Site) -> None:
    await site.cluster()
    await site.machine("m-0", spec=SimulatedMachineSpec(failures=[Failure(type="NeverBoots")]))
    await site.machine("m-1", spec=SimulatedMachineSpec(failures=[Failure(type="NotReady")]))
    await site.machine("m-2", spec=SimulatedMachineSpec(failures=[Failure(type="Dies", after_seconds=1)]))
    await site.machine("m-3", spec=SimulatedMachineSpec(failures=[Failure(type="Flaps", period_seconds=1)]))
    await site.eventually(SimulatedMachine, "m-2", says("Ready", "False", "Died"))
    await site.eventually(Machine, "m-1", says("NodeReady", "False"))
    never = await site.eventually(Machine, "m-0", lambda m: m.spec.provider_id is not None)
    assert never.status.node_ref is None
    async with site.workload() as workload:
        assert await workload.find(Node, "m-0") is None
    async with asyncio.timeout(60):
        for wanted in ("True", "False", "True"):
            await site.eventually(Machine, "m-3", says("NodeReady", wanted))


async def test_a_slow_deletion_is_waited_for(site: Site) -> None:
    await site.cluster()
    await site.machine("m", spec=SimulatedMachineSpec(deletion=HOUR))
    await site.eventually(Machine, "m", running)
    await site.client.delete(Machine, "m", site.namespace)
    await site.eventually(SimulatedMachine, "m", says("Deleting", "True"))
    waiting = await site.eventually(Machine, "m", says("Deleting", "True", "WaitingForInfrastructureDeletion"))
    computer = await site.client.get(SimulatedMachine, "m", site.namespace)
    await site.client.patch(computer, Patch.merge({"spec": {"deletion": None}}))
    await site.gone(Machine, waiting.name)


async def test_what_is_paused_is_left_as_it_is(site: Site) -> None:
    await site.cluster()
    await site.eventually(SimulatedCluster, "c", says("Ready", "True"))
    cluster = await site.client.get(Cluster, "c", site.namespace)
    await site.client.patch(cluster, Patch.merge({"spec": {"paused": True}}))
    await site.eventually(SimulatedCluster, "c", says("Paused", "True"))
    await site.client.patch(cluster, Patch.merge({"spec": {"paused": False}}))
    await site.eventually(SimulatedCluster, "c", says("Paused", "False"))


async def test_a_template_says_what_its_machines_will_have_and_is_replaced_not_changed(site: Site) -> None:
    """Its metadata may change, and a topology controller may try what would become of it."""
    spec = {"template": {"spec": {"capacity": {"cpu": "8", "example.com/gpu": "1"}}}}
    document = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "SimulatedMachineTemplate",
        "spec": spec,
    }
    await site.client.create(document | {"metadata": {"name": "t", "namespace": site.namespace}})
    template = await site.eventually(SimulatedMachineTemplate, "t", lambda t: t.status.capacity)
    assert template.status.capacity == {"cpu": Quantity("8"), "example.com/gpu": Quantity("1")}
    change = {"spec": {"template": {"spec": {"capacity": {"cpu": "4"}}}}}
    with pytest.raises(Invalid, match="a template cannot be changed; make another") as refused:
        await site.client.patch(template, Patch.merge(change))
    assert refused.value.causes[0].field == "spec.template.spec"
    with pytest.raises(Invalid):
        await site.client.patch(template, Patch.merge(change), dry_run=True)
    annotations = {"topology.cluster.x-k8s.io/dry-run": ""}
    await site.client.patch(template, Patch.merge({"metadata": {"annotations": annotations}}))
    await site.client.patch(template, Patch.merge(change), dry_run=True)
    with pytest.raises(Invalid):
        await site.client.patch(template, Patch.merge(change))
