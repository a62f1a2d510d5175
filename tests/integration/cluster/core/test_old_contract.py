"""A cluster whose providers all follow the contract of v1beta1, as their CRDs say."""

from __future__ import annotations

from typing import Any

from msgspec import field

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.testing import Environment

from .conftest import PROVIDER_ID, Anything, LegacyCluster, World, a_node, condition, ref

OLD = {"cluster.x-k8s.io/v1beta1": "v1alpha1_v1alpha2"}  # of several versions, the highest
# Conditions of v1beta1 have no reason when they are true.
READY = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]


@resource(group="infrastructure.cluster.x-k8s.io", version="v1alpha2", labels=OLD)
class LegacyMachine(Resource):
    """The computer of a machine."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="bootstrap.cluster.x-k8s.io", version="v1alpha2", labels=OLD)
class LegacyConfig(Resource):
    """How a machine becomes a node."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


@resource(group="controlplane.cluster.x-k8s.io", version="v1alpha2", labels=OLD)
class LegacyControlPlane(Resource):
    """The control plane of a cluster."""

    spec: Anything = field(default_factory=dict)
    status: Anything = field(default_factory=dict)


async def a_cluster(world: World, workload: Environment) -> Cluster:
    """A cluster that is up."""
    await world.provider(
        LegacyCluster,
        "i",
        spec={"controlPlaneEndpoint": {"host": "h", "port": 1}},
        status={"ready": True, "conditions": READY, "failureDomains": {"b": {}, "a": {"controlPlane": True}}},
    )
    counts = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 3, "unavailableReplicas": 1, "version": "v1.36.0"}
    told: dict[str, Any] = {"initialized": True, "ready": True, "conditions": READY, **counts}
    await world.provider(LegacyControlPlane, "p", spec={"replicas": 3, "version": "v1.36.0"}, status=told)
    await world.kubeconfig(workload)
    await world.cluster(infrastructure_ref=ref(LegacyCluster, "i"), control_plane_ref=ref(LegacyControlPlane, "p"))
    return await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "RemoteConnectionProbe").status == "True"
    )


async def test_a_cluster_is_what_providers_of_the_old_contract_say(world: World, workload: Environment) -> None:
    await world.env.install(LegacyControlPlane)
    cluster = await a_cluster(world, workload)
    assert cluster.status.phase == "Provisioned"
    assert [(domain.name, domain.control_plane) for domain in cluster.status.failure_domains] == [
        ("a", True),
        ("b", False),
    ]
    for type in ("InfrastructureReady", "ControlPlaneInitialized"):
        assert condition(cluster, type).status == "True"
    counts = cluster.status.control_plane
    assert counts is not None
    numbers = (counts.desired_replicas, counts.replicas, counts.ready_replicas, counts.available_replicas)
    assert (*numbers, counts.up_to_date_replicas) == (3, 3, 2, 2, 3)
    assert [one.version for one in counts.versions] == ["v1.36.0"]


async def test_a_machine_becomes_a_node_and_its_failure_is_passed_on(world: World, workload: Environment) -> None:
    """A failure that a provider calls final is told, and changes nothing else."""
    await world.env.install(LegacyControlPlane, LegacyMachine, LegacyConfig)
    await a_cluster(world, workload)
    await world.provider(LegacyConfig, "b", status={"ready": True, "conditions": READY, "dataSecretName": "s"})
    spec = {"providerID": PROVIDER_ID, "failureDomain": "a"}
    computer = await world.provider(LegacyMachine, "m", spec=spec, status={"ready": True, "conditions": READY})
    await workload.client.create(a_node())
    wanted = MachineSpec(
        cluster_name="c",
        version="v1.36.0",
        bootstrap=Bootstrap(config_ref=ref(LegacyConfig, "b")),
        infrastructure_ref=ref(LegacyMachine, "m"),
    )
    await world.client.create(Machine(metadata=world.named("m"), spec=wanted))
    machine = await world.env.eventually(
        Machine, "m", world.namespace, lambda m: condition(m, "Ready").status == "True"
    )
    assert machine.status.phase == "Running"
    assert machine.spec.failure_domain == machine.status.failure_domain == "a"

    await world.says(computer, {"failureReason": "UpdateError", "failureMessage": "the disk is gone"})
    machine = await world.env.eventually(Machine, "m", world.namespace, lambda m: m.status.deprecated is not None)
    assert machine.status.deprecated is not None and machine.status.deprecated.v1beta1 is not None
    assert machine.status.deprecated.v1beta1.failure_reason == "UpdateError"
    assert machine.status.deprecated.v1beta1.failure_message == (
        'Failure detected from referenced resource LegacyMachine with name "m": the disk is gone'
    )
    assert machine.status.phase == "Running"
