"""The clientset: client-go's verbs, on built-in kinds and on others."""

from __future__ import annotations

import asyncio

import pytest

from kapstan.client import Client, Clientset, Patch
from kapstan.k8s import authorization_v1 as authorization
from kapstan.k8s import core_v1 as core
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.meta import ObjectMeta

from .conftest import WIDGET, Part, Widget, WidgetSpec, WidgetStatus
from .test_writing import deployment


@pytest.fixture
def clientset(api: Client) -> Clientset:
    return Clientset(api)


async def test_deployments(clientset: Clientset, namespace: str) -> None:
    deployments = clientset.apps_v1.deployments(namespace)
    created = await deployments.create(deployment(""))
    assert (created.namespace, (await deployments.get("web")).uid) == (namespace, created.uid)
    assert [each.name for each in await deployments.list()] == ["web"]
    assert [each.name for each in await clientset.apps_v1.deployments().list(labels="nobody=has-this")] == []
    created.spec.replicas = 2
    updated = await deployments.update(created)
    assert updated.spec.replicas == 2
    updated.status.observed_generation = 1
    assert (await deployments.update_status(updated)).status.observed_generation == 1
    assert (await deployments.patch("web", Patch.merge({"spec": {"replicas": 3}}))).spec.replicas == 3
    assert (await deployments.get_scale("web")).spec.replicas == 3
    assert (await deployments.update_scale("web", 0)).spec.replicas == 0
    applied = await deployments.apply(deployment(namespace), field_manager="other", force=True)
    assert applied.spec.replicas == 1
    async with deployments.watch() as events, asyncio.timeout(60):
        assert (await anext(events)).object.name == "web"
    await deployments.delete("web")
    with pytest.raises(NotFound):
        await deployments.delete("web")


async def test_delete_collection(clientset: Clientset, namespace: str) -> None:
    maps = clientset.core_v1.config_maps(namespace)
    for name in ("a", "b"):
        await maps.create(core.ConfigMap(metadata=ObjectMeta(name=name, labels={"name": name})))
    await maps.delete_collection(labels="name=a")
    assert [each.name for each in await maps.list(labels="name")] == ["b"]


async def test_cluster_scoped_kinds_and_reviews(clientset: Clientset, namespace: str) -> None:
    assert (await clientset.core_v1.namespaces().get(namespace)).name == namespace
    attributes = authorization.ResourceAttributes(verb="list", resource="pods", namespace=namespace)
    review = authorization.SelfSubjectAccessReview(
        spec=authorization.SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    )
    assert (await clientset.authorization_v1.self_subject_access_reviews().create(review)).status.allowed is True


async def test_an_update_keeps_what_the_class_does_not_know(
    api: Client, clientset: Clientset, namespace: str, widgets: type[Widget]
) -> None:
    body = {
        "apiVersion": WIDGET.api_version,
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace, "labels": {"a": "1", "b": "2"}},
        "spec": {"size": 2, "note": "kept", "parts": [{"name": "x"}]},
    }
    await api.create(body)
    collection = clientset.of(Widget).namespace(namespace)
    widget = await collection.get("w")
    widget.spec = WidgetSpec(size=7)
    del widget.metadata.labels["a"]
    widget.status = WidgetStatus(phase="ignored")
    updated = await collection.update(widget)
    assert (updated.spec, updated.metadata.labels, updated.status.phase) == (WidgetSpec(size=7), {"b": "2"}, "")
    assert (await api.get(WIDGET, "w", namespace))["spec"] == {"size": 7, "note": "kept"}


async def test_an_update_of_what_has_changed_is_a_conflict(
    api: Client, clientset: Clientset, namespace: str, widgets: type[Widget]
) -> None:
    collection = clientset.of(Widget).namespace(namespace)
    read = await collection.create(Widget(metadata=ObjectMeta(name="w")))
    await collection.patch("w", Patch.merge({"spec": {"size": 5}}))
    with pytest.raises(Conflict):
        await collection.update(read.replace(spec=WidgetSpec(size=6)))
    with pytest.raises(Conflict):
        await collection.update_status(read.replace(status=WidgetStatus(phase="x")))
    with pytest.raises(Conflict):
        await collection.update(read.replace(spec=WidgetSpec(size=5)))  # no difference, but no less stale


async def test_an_update_without_version_replaces_whatever_is_there(
    clientset: Clientset, namespace: str, widgets: type[Widget]
) -> None:
    collection = clientset.of(Widget).namespace(namespace)
    await collection.create(Widget(metadata=ObjectMeta(name="w"), spec=WidgetSpec(size=4, parts=[Part(name="a")])))
    fresh = Widget(metadata=ObjectMeta(name="w", namespace=namespace), spec=WidgetSpec(size=9))
    updated = await collection.update(fresh)
    assert (updated.spec.size, updated.spec.parts) == (9, [])
    assert (await collection.update(fresh)).metadata.resource_version == updated.metadata.resource_version
    status = await collection.update_status(fresh.replace(status=WidgetStatus(ready=1)))
    assert (status.status.ready, status.spec.size) == (1, 9)
