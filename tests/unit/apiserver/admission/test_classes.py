"""What runtime and storage classes mean for pods and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kapstan.machinery.errors import Forbidden

if TYPE_CHECKING:
    from tests.unit.apiserver.admission.conftest import Cluster

Object = dict[str, Any]
NODE = "node.k8s.io/v1"


async def pod(cluster: Cluster, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    created = await cluster.create("v1", "Pod", "p", "default", spec={"containers": containers, **spec})
    found: Object = created["spec"]
    return found


async def test_a_pod_gets_what_its_runtime_costs_and_where_it_runs(cluster: Cluster) -> None:
    wide = {"operator": "Exists", "effect": "NoSchedule"}
    scheduling = {"nodeSelector": {"runtime": "kata"}, "tolerations": [wide]}
    overhead = {"podFixed": {"cpu": "250m"}}
    await cluster.create(NODE, "RuntimeClass", "kata", handler="kata", overhead=overhead, scheduling=scheduling)
    own = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
    spec = await pod(cluster, runtimeClassName="kata", nodeSelector={"zone": "a"}, tolerations=[own])
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"zone": "a", "runtime": "kata"}
    assert [one for one in spec["tolerations"] if one["effect"] == "NoSchedule"] == [wide]


async def test_a_class_that_is_not_there_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Forbidden) as caught:
        await pod(cluster, runtimeClassName="nothing")
    assert str(caught.value) == 'pods "p" is forbidden: pod rejected: RuntimeClass "nothing" not found'


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"overhead": {"cpu": "1"}}, "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"nodeSelector": {"runtime": "runc"}}, r"conflict: runtimeClass.scheduling.nodeSelector\[runtime\] = kata"),
        ({"runtimeClassName": None, "overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass"),
    ],
)
async def test_a_pod_must_not_contradict_its_class(cluster: Cluster, given: Object, why: str) -> None:
    scheduling = {"nodeSelector": {"runtime": "kata"}}
    overhead = {"podFixed": {"cpu": "250m"}}
    await cluster.create(NODE, "RuntimeClass", "kata", handler="kata", overhead=overhead, scheduling=scheduling)
    with pytest.raises(Forbidden, match=why):
        await pod(cluster, **{"runtimeClassName": "kata", **given})


async def claim(cluster: Cluster, storage_class: str) -> Object:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": "v",
    }
    return await cluster.create("v1", "PersistentVolumeClaim", "c", "default", spec=spec)


async def test_claims_grow_where_their_class_allows_it(cluster: Cluster) -> None:
    storage = ("storage.k8s.io/v1", "StorageClass")
    await cluster.create(*storage, "fixed", provisioner="example.com/p")
    await cluster.create(*storage, "growing", provisioner="example.com/p", allowVolumeExpansion=True)
    kind = cluster.kind("v1", "PersistentVolumeClaim")
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    for name, allowed in (("fixed", False), ("growing", True)):
        await claim(cluster, name)
        await cluster.api.patch(kind, "c", "default", {"status": {"phase": "Bound"}}, subresource="status")
        if allowed:
            await cluster.api.patch(kind, "c", "default", larger)
        else:
            with pytest.raises(Forbidden, match="the storageclass that provisions the pvc must support resize"):
                await cluster.api.patch(kind, "c", "default", larger)
        await cluster.api.patch(kind, "c", "default", {"metadata": {"finalizers": None}})  # nobody else takes them off
        await cluster.api.delete(kind, "c", "default")
