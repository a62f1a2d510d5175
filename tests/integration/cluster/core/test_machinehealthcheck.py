"""The MachineHealthCheck controller, with machines whose nodes the test makes well or unwell."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import field

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, Machine, MachineHealthCheck
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.codec import convert
from kapstan.machinery.meta import now
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.testing import Environment

from .conftest import (
    PROVISIONED,
    Anything,
    GenericCluster,
    GenericControlPlane,
    GenericMachine,
    World,
    a_node,
    condition,
    ref,
)

GROUP = "infrastructure.cluster.x-k8s.io"


@resource(group=GROUP, version="v1")
class Reboot(Resource):
    """A request to somebody who reboots machines."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group=GROUP, version="v1")
class RebootTemplate(Resource):
    """What such requests are made from."""

    spec: Anything = field(default_factory=dict)


async def machines(world: World, workload: Environment, *names: str) -> None:
    """Machines that have become nodes of the same names."""

    async def one(name: str) -> None:
        provider_id = f"test:///{name}"
        await world.provider(GenericMachine, name, spec={"providerID": provider_id}, status=PROVISIONED)
        await workload.client.create(a_node(name, provider_id))
        await world.client.create(a_machine(world, name))
        await machine_when(world, name, lambda m: m.status.node_ref is not None)

    await asyncio.gather(*(one(name) for name in names))


def a_machine(world: World, name: str) -> Machine:
    spec = MachineSpec(
        cluster_name="c",
        bootstrap=Bootstrap(data_secret_name="s"),
        infrastructure_ref=ref(GenericMachine, name),
    )
    return Machine(metadata=world.named(name, role="worker"), spec=spec)


async def machine_when(world: World, name: str, holds: Any) -> Machine:
    return await world.env.eventually(Machine, name, world.namespace, holds)


async def check_when(world: World, holds: Any) -> MachineHealthCheck:
    return await world.env.eventually(MachineHealthCheck, "h", world.namespace, holds)


def at_once(timeout: int = 0) -> dict[str, Any]:
    """A node that is not known to be ready for that long is unhealthy."""
    return {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": timeout}]}


async def a_check(world: World, **spec: Any) -> MachineHealthCheck:
    fields = {"clusterName": "c", "selector": {"matchLabels": {"role": "worker"}}, "checks": at_once(), **spec}
    metadata = {"name": "h", "namespace": world.namespace}
    return await world.client.create(convert({"metadata": metadata, "spec": fields}, MachineHealthCheck))


async def turns(workload: Environment, node: str, status: str) -> None:
    """A node's condition Ready changes, now."""
    found = await workload.client.get(Node, node)
    told = {"type": "Ready", "status": status, "reason": "Told", "lastTransitionTime": f"{now():%Y-%m-%dT%H:%M:%SZ}"}
    await workload.client.patch(found, Patch.strategic({"status": {"conditions": [told]}}), subresource="status")


def is_unhealthy(machine: Machine) -> bool:
    return condition(machine, "HealthCheckSucceeded").status == "False"


def is_asked_for(machine: Machine) -> bool:
    """Whether the owner has been asked to remediate the machine."""
    return condition(machine, "OwnerRemediated").reason == "WaitingForRemediation"


async def test_an_unhealthy_machine_is_its_owner_s_to_remediate(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """Counted, told, asked for; and when it is well again, counted and told again."""
    await machines(world, workload, "a", "b")
    await a_check(world)
    check = await check_when(world, lambda h: h.status.current_healthy == 2)
    assert (check.status.expected_machines, check.status.remediations_allowed) == (2, 2)
    assert check.status.targets == ["a", "b"]
    assert condition(check, "RemediationAllowed").status == "True"
    assert check.metadata.labels["cluster.x-k8s.io/cluster-name"] == "c"
    assert [(owner.kind, owner.controller) for owner in check.metadata.owner_references] == [("Cluster", None)]
    await machine_when(world, "b", lambda m: condition(m, "HealthCheckSucceeded").status == "True")

    await turns(workload, "a", "Unknown")
    machine = await machine_when(world, "a", is_asked_for)
    told = condition(machine, "HealthCheckSucceeded")
    assert told.reason == "UnhealthyNode"
    assert "Condition Ready on Node is reporting status Unknown with reason Told for more than 0s" in told.message
    check = await check_when(world, lambda h: h.status.current_healthy == 1)
    assert check.status.remediations_allowed == 1

    await turns(workload, "a", "True")
    await machine_when(world, "a", lambda m: condition(m, "HealthCheckSucceeded").status == "True")
    await check_when(world, lambda h: h.status.current_healthy == 2)
    other = await world.client.get(Machine, "b", world.namespace)
    assert all(one.type != "OwnerRemediated" for one in other.status.conditions)


async def test_a_machine_is_unhealthy_when_its_time_is_over(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """Nothing happens in between: the check looks again by itself, and not before."""
    await machines(world, workload, "a")
    await a_check(world, checks=at_once(timeout=2))
    await check_when(world, lambda h: h.status.current_healthy == 1)
    await turns(workload, "a", "Unknown")
    await check_when(world, lambda h: h.status.current_healthy == 0)
    machine = await machine_when(world, "a", is_asked_for)
    node = await workload.client.get(Node, "a")
    since = next(one.last_transition_time for one in node.status.conditions if one.type == "Ready")
    marked = condition(machine, "HealthCheckSucceeded").last_transition_time
    assert since is not None and marked is not None
    assert (marked - since).total_seconds() >= 2


async def test_never_more_are_remediated_than_allowed(world: World, workload: Environment, cluster: Cluster) -> None:
    """Too many at once are told that they are unhealthy, but nobody is asked, until few enough are."""
    await machines(world, workload, "a", "b", "d")
    await turns(workload, "a", "Unknown")
    await turns(workload, "b", "Unknown")
    await a_check(world, remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}})
    check = await check_when(world, lambda h: condition(h, "RemediationAllowed").status == "False")
    told = condition(check, "RemediationAllowed")
    assert told.reason == "TooManyUnhealthy"
    assert "exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 40%)" in told.message
    assert check.status.remediations_allowed == 0
    for name in ("a", "b"):
        machine = await machine_when(world, name, is_unhealthy)
        assert all(one.type != "OwnerRemediated" for one in machine.status.conditions)

    await turns(workload, "b", "True")
    await machine_when(world, "a", is_asked_for)
    await check_when(world, lambda h: condition(h, "RemediationAllowed").status == "True")
    machine = await world.client.get(Machine, "b", world.namespace)
    assert all(one.type != "OwnerRemediated" for one in machine.status.conditions)


async def test_a_vanished_node_and_an_annotation_make_machines_unhealthy(
    world: World, workload: Environment, cluster: Cluster
) -> None:
    """One that nobody may remediate does not count at all."""
    await machines(world, workload, "a", "b", "d")
    for name, annotation in (("b", "remediate-machine"), ("d", "skip-remediation")):
        machine = await world.client.get(Machine, name, world.namespace)
        annotations = {f"cluster.x-k8s.io/{annotation}": ""}
        await world.client.patch(machine, Patch.merge({"metadata": {"annotations": annotations}}))
    await a_check(world)
    await workload.client.delete(Node, "a")
    machine = await machine_when(world, "a", is_asked_for)
    assert condition(machine, "HealthCheckSucceeded").message.endswith("Node a has been deleted")
    machine = await machine_when(world, "b", is_asked_for)
    assert condition(machine, "HealthCheckSucceeded").reason == "HasRemediateAnnotation"
    await machine_when(world, "b", lambda m: condition(m, "Ready").status == "False")  # it has heard of the verdict
    check = await check_when(world, lambda h: h.status.current_healthy == 0)
    assert check.status.targets == ["a", "b"]


async def test_workers_are_not_judged_before_the_control_plane_stands(world: World, workload: Environment) -> None:
    """Their node is missed only from when there could be one, however old the machine is by then."""
    await world.provider(GenericCluster, "i", status=PROVISIONED)
    plane = await world.provider(GenericControlPlane, "p")
    await world.kubeconfig(workload)
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"), control_plane_ref=ref(GenericControlPlane, "p"))
    await world.client.create(a_machine(world, "a"))
    checks = {"nodeStartupTimeoutSeconds": 1}
    await a_check(world, checks=checks)
    await check_when(world, lambda h: h.status.expected_machines == 1 and h.status.current_healthy == 0)
    machine = await machine_when(world, "a", lambda m: m.status.phase)
    assert all(one.type != "HealthCheckSucceeded" for one in machine.status.conditions)

    await world.says(plane, {"initialization": {"controlPlaneInitialized": True}})
    machine = await machine_when(world, "a", is_asked_for)
    told = condition(machine, "HealthCheckSucceeded")
    assert told.reason == "NodeStartupTimeout"
    cluster = await world.client.get(Cluster, "c", world.namespace)
    since = condition(cluster, "ControlPlaneInitialized").last_transition_time
    assert since is not None and told.last_transition_time is not None
    assert (told.last_transition_time - since).total_seconds() >= 1


async def test_somebody_else_remediates_by_a_request(world: World, workload: Environment, cluster: Cluster) -> None:
    """Made from a template, made again if it is lost, taken back when the machine is well."""
    await world.env.install(Reboot, RebootTemplate)
    await machines(world, workload, "a")
    template = {"apiVersion": f"{GROUP}/v1", "kind": "RebootTemplate", "name": "t"}
    await a_check(world, remediation={"templateRef": template})
    await turns(workload, "a", "Unknown")
    machine = await machine_when(world, "a", lambda m: condition(m, "ExternallyRemediated"))
    told = condition(machine, "ExternallyRemediated")
    assert told.reason == "RemediationTemplateNotFound"
    assert told.message == f"Error retrieving remediation template RebootTemplate {world.namespace}/t"

    inner = {"template": {"spec": {"how": "hard"}}}
    await world.client.create(RebootTemplate(metadata=world.named("t"), spec=inner))
    request = await world.env.eventually(Reboot, "a", world.namespace)
    assert request.spec == {"how": "hard"}
    assert [owner.kind for owner in request.metadata.owner_references] == ["Machine"]
    machine = await machine_when(
        world, "a", lambda m: condition(m, "ExternallyRemediated").reason == "WaitingForRemediation"
    )
    assert all(one.type != "OwnerRemediated" for one in machine.status.conditions)

    await world.client.delete(request)
    await world.env.eventually(Reboot, "a", world.namespace, lambda r: r.uid != request.uid)
    await turns(workload, "a", "True")
    await world.env.gone(Reboot, "a", world.namespace)


async def test_a_paused_check_does_nothing(world: World, workload: Environment, cluster: Cluster) -> None:
    await machines(world, workload, "a")
    await turns(workload, "a", "Unknown")
    check = convert(
        {
            "metadata": {"name": "h", "namespace": world.namespace, "annotations": {"cluster.x-k8s.io/paused": ""}},
            "spec": {"clusterName": "c", "selector": {"matchLabels": {"role": "worker"}}},
        },
        MachineHealthCheck,
    )
    await world.client.create(check)
    check = await check_when(world, lambda h: condition(h, "Paused").status == "True")
    assert check.status.expected_machines is None
    await world.client.patch(check, Patch.merge({"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}}))
    await check_when(world, lambda h: h.status.expected_machines == 1 and condition(h, "Paused").status == "False")
