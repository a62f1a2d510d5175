"""Pods and the node they are on: its place becomes theirs, and they stay within it."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import LOOPBACK, Request
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.errors import Forbidden
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]
POD = GroupVersionKind("", "v1", "Pod")
NODE = GroupVersionKind("", "v1", "Node")
ZONE = {"topology.kubernetes.io/zone": "z"}


@pytest.fixture
async def placed(api: API) -> API:
    """A cluster with a node."""
    await api.create(_object("ServiceAccount", "default"))
    await api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {**ZONE, "a": "b"}}})
    await api.patch(NODE, "n", "", {"status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}}, subresource="status")
    return api


def _object(kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **more}


async def _pod(api: API, node: str = "", **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    content = {"containers": [container], **({"nodeName": node} if node else {}), **spec}
    return await api.create(_object("Pod", "p", spec=content))


async def _resize(api: API, spec: Object) -> Object:
    patch = {"spec": spec}
    return await api.patch(
        POD, "p", "default", patch, type="application/strategic-merge-patch+json", subresource="resize"
    )


def _asking(cpu: str) -> Object:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}


async def test_a_pod_carries_the_zone_of_its_node(placed: API) -> None:
    pod = await _pod(placed, "n")
    assert pod["metadata"]["labels"] == ZONE


async def test_a_pod_that_is_bound_later_gets_it_then(server: EmbeddedServer, placed: API) -> None:
    assert "labels" not in (await _pod(placed))["metadata"]
    kind = server.cluster.kinds.kind(POD)
    assert kind is not None
    request = Request(server.cluster, LOOPBACK, "create", kind, namespace="default", name="p", subresource="binding")
    await verbs.create(request, _object("Binding", "p", target={"kind": "Node", "name": "n"}))
    pod = await placed.get(POD, "p", "default")
    assert (pod["spec"]["nodeName"], pod["metadata"]["labels"]) == ("n", ZONE)


async def test_a_pod_does_not_grow_beyond_its_node(placed: API) -> None:
    await _pod(placed, "n")
    await _resize(placed, _asking("900m"))
    with pytest.raises(Forbidden) as refusal:
        await _resize(placed, _asking("1100m"))
    assert "node didn't have enough allocatable resources: cpu, requested: 1100, allocatable: 1000" in str(
        refusal.value
    )
    assert refusal.value.status.details is not None
    assert [cause.reason for cause in refusal.value.status.details.causes] == ["NodeCapacity"]


async def test_a_node_must_know_how_to_resize_a_pod_as_a_whole(placed: API) -> None:
    await _pod(placed, "n", resources={"requests": {"cpu": "200m"}})
    larger = {"resources": {"requests": {"cpu": "300m"}}}
    with pytest.raises(Forbidden, match="requires features InPlacePodLevelResourcesVerticalScaling"):
        await _resize(placed, larger)
    status = {"status": {"declaredFeatures": ["InPlacePodLevelResourcesVerticalScaling"]}}
    await placed.patch(NODE, "n", "", status, subresource="status")
    await _resize(placed, larger)
