"""The Cluster controller, with providers played by the test."""

from __future__ import annotations

from typing import Any

from kapstan.client import Kubeconfig, Patch
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment
from kapstan.cluster.api.core.cluster import APIEndpoint
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec, MachineTemplate
from kapstan.cluster.api.core.machinedeployment import MachineDeploymentSpec
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.meta import LabelSelector, ObjectMeta, OwnerReference
from kapstan.machinery.pki import new_ca
from kapstan.testing import Environment

from .conftest import GenericCluster, GenericControlPlane, GenericMachine, LegacyCluster, World, condition, ref

PROVISIONED = {"initialization": {"provisioned": True}}
HOLD = "test.example.com/hold"


async def held(world: World, obj: Any) -> None:
    """Have a provider's object stay until `release`, as one with something to clean up does."""
    await world.client.patch(obj, Patch.merge({"metadata": {"finalizers": [HOLD]}}))


async def release(world: World, obj: Any) -> None:
    await world.client.patch(obj, Patch.merge({"metadata": {"finalizers": None}}))


async def test_a_cluster_is_provisioned_as_its_providers_say(world: World, workload: Environment) -> None:
    """From nothing to Available: infrastructure, endpoint, control plane, connection."""
    infra = await world.provider(GenericCluster, "i")
    plane = await world.provider(GenericControlPlane, "p", spec={"replicas": 3})
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"), control_plane_ref=ref(GenericControlPlane, "p"))
    env, namespace = world.env, world.namespace

    cluster = await env.eventually(Cluster, "c", namespace, lambda c: c.status.phase == "Provisioning")
    assert condition(cluster, "InfrastructureReady").reason == "NotReady"
    assert "cluster.cluster.x-k8s.io" in cluster.metadata.finalizers

    domains = [{"name": "a", "controlPlane": True}]
    await world.says(
        infra,
        {"initialization": {"provisioned": True}, "failureDomains": domains},
        spec={"controlPlaneEndpoint": {"host": "example.com", "port": 6443}},
    )
    cluster = await env.eventually(Cluster, "c", namespace, lambda c: c.status.phase == "Provisioned")
    assert cluster.spec.control_plane_endpoint is not None
    assert cluster.spec.control_plane_endpoint.host == "example.com"
    assert [domain.name for domain in cluster.status.failure_domains] == ["a"]
    assert condition(cluster, "ControlPlaneInitialized").status == "False"

    await world.kubeconfig(workload)
    await world.says(plane, {"initialization": {"controlPlaneInitialized": True}, "replicas": 3, "readyReplicas": 2})
    cluster = await env.eventually(Cluster, "c", namespace, lambda c: condition(c, "Available").status == "True")
    assert condition(cluster, "RemoteConnectionProbe").reason == "ProbeSucceeded"
    assert cluster.status.control_plane is not None
    assert cluster.status.control_plane.desired_replicas == 3
    assert cluster.status.control_plane.ready_replicas == 2


async def test_providers_objects_are_owned_and_labelled(world: World) -> None:
    """A plain owner reference: whoever else manages the infrastructure may be its controller."""
    await world.provider(GenericCluster, "i")
    cluster = await world.cluster(infrastructure_ref=ref(GenericCluster, "i"))
    owner = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="c", uid=cluster.uid)
    infra = await world.env.eventually(GenericCluster, "i", world.namespace, lambda i: i.metadata.owner_references)
    assert infra.metadata.owner_references == [owner]
    assert infra.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c"}


async def test_infrastructure_that_comes_later_is_found(world: World) -> None:
    """Nobody polls: that it has been made wakes the cluster, although nobody owns it yet."""
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"))
    cluster = await world.env.eventually(Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady"))
    assert condition(cluster, "InfrastructureReady").message == "GenericCluster does not exist"
    await world.provider(GenericCluster, "i", status=PROVISIONED)
    await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady").status == "True"
    )


async def test_a_provider_of_the_old_contract_works_too(world: World) -> None:
    await world.provider(
        LegacyCluster,
        "i",
        spec={"controlPlaneEndpoint": {"host": "h", "port": 1}},
        status={"ready": True, "failureDomains": {"a": {"controlPlane": True}}},
    )
    await world.cluster(infrastructure_ref=ref(LegacyCluster, "i"))
    cluster = await world.env.eventually(Cluster, "c", world.namespace, lambda c: c.status.phase == "Provisioned")
    assert [domain.name for domain in cluster.status.failure_domains] == ["a"]


async def test_a_provider_that_is_not_installed_is_named(world: World) -> None:
    reference = ref(GenericCluster, "i").replace(kind="Absent")
    await world.cluster(infrastructure_ref=reference)
    cluster = await world.env.eventually(Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady"))
    told = condition(cluster, "InfrastructureReady")
    assert told.reason == "InternalError"
    assert "there is no CRD absents.infrastructure.cluster.x-k8s.io; install the provider" in told.message


async def test_lost_infrastructure_is_told(world: World) -> None:
    infra = await world.provider(GenericCluster, "i", status=PROVISIONED)
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"))
    await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady").status == "True"
    )
    await world.client.delete(infra)
    cluster = await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady").status == "False"
    )
    told = condition(cluster, "InfrastructureReady")
    assert told.message == "GenericCluster has been deleted while the Cluster still exists"


async def test_a_paused_cluster_is_left_alone(world: World) -> None:
    await world.provider(GenericCluster, "i", status=PROVISIONED)
    cluster = await world.cluster(infrastructure_ref=ref(GenericCluster, "i"), paused=True)
    cluster = await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "Paused").status == "True"
    )
    assert condition(cluster, "Paused").message == "Cluster spec.paused is set to true"
    assert [one.type for one in cluster.status.conditions] == ["Paused"]
    infra = await world.client.get(GenericCluster, "i", world.namespace)
    assert infra.metadata.owner_references == []
    await world.client.patch(cluster, Patch.merge({"spec": {"paused": None}}))
    await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "InfrastructureReady").status == "True"
    )


async def test_a_cluster_without_control_plane_provider_gets_a_kubeconfig(world: World) -> None:
    """As soon as there is an endpoint, and an authority to sign with."""
    await world.cluster(
        infrastructure_ref=ref(GenericCluster, "i"), control_plane_endpoint=APIEndpoint(host="api.c", port=6443)
    )
    await world.env.eventually(Cluster, "c", world.namespace, lambda c: c.status.phase)
    ca = new_ca("kubernetes")
    metadata = world.named("c-ca", **{"cluster.x-k8s.io/cluster-name": "c"})
    await world.client.create(Secret(metadata=metadata, data={"tls.crt": ca.cert_pem, "tls.key": ca.key_pem}))
    secret = await world.env.eventually(Secret, "c-kubeconfig", world.namespace)
    assert secret.type == "cluster.x-k8s.io/secret"
    kubeconfig = Kubeconfig.parse(secret.data["value"])
    assert kubeconfig.clusters["c"].server == "https://api.c:6443"
    assert "c-admin" in kubeconfig.users


async def test_a_cluster_is_deleted_in_order(world: World) -> None:
    """Workers, then the control plane, then the infrastructure: each when the one before is gone."""
    infra = await world.provider(GenericCluster, "i", status=PROVISIONED)
    plane = await world.provider(GenericControlPlane, "p")
    await held(world, infra)
    await held(world, plane)
    cluster = await world.cluster(
        infrastructure_ref=ref(GenericCluster, "i"), control_plane_ref=ref(GenericControlPlane, "p")
    )
    workers = await world.client.create(a_deployment(world, cluster))
    await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: c.status.workers and c.status.workers.desired_replicas
    )
    await world.client.delete(cluster)

    cluster = await waits(world, "WaitingForWorkersDeletion")
    assert condition(cluster, "Deleting").message == "* MachineDeployments: workers"
    assert cluster.status.phase == "Deleting"
    await release(world, workers)

    cluster = await waits(world, "WaitingForControlPlaneDeletion")
    assert condition(cluster, "Deleting").message == "Waiting for GenericControlPlane to be deleted"
    assert not (await world.client.get(GenericCluster, "i", world.namespace)).deleting
    await release(world, plane)

    await waits(world, "WaitingForInfrastructureDeletion")
    await release(world, infra)
    await world.env.gone(Cluster, "c", world.namespace)


async def waits(world: World, reason: str) -> Cluster:
    return await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: condition(c, "Deleting").reason == reason
    )


def a_deployment(world: World, cluster: Cluster) -> MachineDeployment:
    owner = OwnerReference(api_version=cluster.api_version, kind=cluster.kind, name=cluster.name, uid=cluster.uid)
    metadata = ObjectMeta(
        name="workers",
        namespace=world.namespace,
        labels={"cluster.x-k8s.io/cluster-name": "c"},
        owner_references=[owner],
        finalizers=[HOLD],
    )
    spec = MachineSpec(
        cluster_name="c", bootstrap=Bootstrap(data_secret_name="s"), infrastructure_ref=ref(GenericMachine, "t")
    )
    selector = LabelSelector(match_labels={"a": "b"})
    return MachineDeployment(
        metadata=metadata,
        spec=MachineDeploymentSpec(
            cluster_name="c", replicas=2, selector=selector, template=MachineTemplate(spec=spec)
        ),
    )


async def test_a_cluster_of_standalone_machines_counts_them(world: World) -> None:
    await world.cluster(infrastructure_ref=ref(GenericCluster, "i"))
    spec = MachineSpec(
        cluster_name="c",
        bootstrap=Bootstrap(data_secret_name="s"),
        infrastructure_ref=ref(GenericMachine, "m"),
        version="v1.36.0",
    )
    labels = {"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""}
    await world.client.create(Machine(metadata=world.named("m", **labels), spec=spec))
    cluster = await world.env.eventually(
        Cluster, "c", world.namespace, lambda c: c.status.control_plane and c.status.control_plane.replicas == 1
    )
    assert cluster.status.control_plane is not None
    assert [count.version for count in cluster.status.control_plane.versions] == ["v1.36.0"]
    assert condition(cluster, "ControlPlaneInitialized").reason == "NotInitialized"
