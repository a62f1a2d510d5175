"""What a control plane does, whoever provides it."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.client import Client, Config, Kubeconfig, Patch
from kapstan.client.interface import Unstructured
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.contract.version import Contract
from kapstan.k8s.core_v1 import Namespace, Secret

from .core import CLUSTER_NAME, Core, condition, is_paused, status
from .providers import CONTROL_PLANES, Sample

pytestmark = pytest.mark.parametrize("provider", CONTROL_PLANES, ids=str)


@pytest.fixture
def sample(core: Core) -> Sample:
    assert core.provider.control_plane is not None
    return core.provider.control_plane


def initialized(document: Unstructured) -> bool:
    return status(document, "initialization", "controlPlaneInitialized") is True


def available(document: Unstructured) -> bool:
    return initialized(document) and condition(document, "Available") in ("True", "")


async def owned(core: Core, sample: Sample, *, paused: bool = False) -> Any:
    """A control plane that core has adopted, of a cluster whose infrastructure is there."""
    plane = await core.sample(sample)
    cluster = await core.cluster(paused=paused, controlPlaneRef=plane)
    await core.infrastructure_provisioned(cluster)
    await core.owns(cluster, plane)
    return plane


async def test_it_waits_for_its_owner_and_comes_up(core: Core, sample: Sample) -> None:
    """Then it can be reached as its kubeconfig says, and tells what core wants to know."""
    async with core.running():
        plane = await core.sample(sample)
        cluster = await core.cluster(controlPlaneRef=plane)
        await core.infrastructure_provisioned(cluster)
        await core.settled(plane)
        waiting = await core.document(plane)
        assert not initialized(waiting)
        assert not waiting["metadata"].get("finalizers")

        await core.owns(cluster, plane)
        found = await core.when(plane, available)
        assert found["metadata"]["finalizers"]
        view = ControlPlane(found, Contract("v1beta2", plane.__resource__.version))
        assert view.initialized
        assert view.endpoint is None or (view.endpoint.host and view.endpoint.port)
        assert [count.version for count in view.versions] == [view.version]
        if view.desired_replicas is not None:
            assert view.replicas == view.ready_replicas == view.available_replicas == view.desired_replicas
            assert view.up_to_date_replicas == view.desired_replicas

        secret = await core.env.eventually(Secret, "c-kubeconfig", core.namespace)
        assert secret.metadata.labels[CLUSTER_NAME] == "c"
        assert secret.type == "cluster.x-k8s.io/secret"
        assert secret.controller_ref() is not None
        assert Kubeconfig.parse(secret.data["value"]).clusters
        async with Client(Config.from_kubeconfig(secret.data["value"])) as workload:
            await workload.get(Namespace, "kube-system")


async def test_a_paused_one_is_left_alone(core: Core, sample: Sample) -> None:
    async with core.running():
        plane = await owned(core, sample, paused=True)
        found = await core.when(plane, is_paused)
        assert not initialized(found)
        await core.pause(plane)
        cluster = await core.client.get(Cluster, "c", core.namespace)
        await core.client.patch(cluster, Patch.merge({"spec": {"paused": False}}))
        await core.settled(plane)
        found = await core.document(plane)
        assert is_paused(found)
        assert not initialized(found)
        await core.pause(plane, on=False)
        found = await core.when(plane, initialized)
        assert not is_paused(found)


async def test_a_restart_changes_nothing(core: Core, sample: Sample) -> None:
    """Nor does the loss of its status: what it is kept by lies elsewhere."""
    async with core.running():
        plane = await owned(core, sample)
        await core.when(plane, available)
        before = await core.settled(plane)
        kubeconfig = await core.client.get(Secret, "c-kubeconfig", core.namespace)
    async with core.running():
        await core.when(plane, available)
        assert await core.settled(plane) == before
    await core.client.patch(plane, Patch.json([{"op": "remove", "path": "/status"}]), subresource="status")
    async with core.running():
        await core.when(plane, available)
        found = await core.client.get(Secret, "c-kubeconfig", core.namespace)
        assert (found.uid, found.data) == (kubeconfig.uid, kubeconfig.data)


async def test_it_is_deleted_and_leaves_nothing(core: Core, sample: Sample) -> None:
    """Before it was adopted, and when it stands, by a manager that did not make it. No Secret of it remains."""
    unowned = await core.sample(sample, "y")
    plane = await owned(core, sample)
    async with core.running():
        await core.client.delete(unowned)
        await core.gone(unowned)
        await core.when(plane, available)
    await core.client.delete(plane)
    async with core.running():
        await core.gone(plane)
    left = await core.client.list(Secret, core.namespace, labels={CLUSTER_NAME: "c"})
    assert [secret.name for secret in left if not secret.deleting] == []
