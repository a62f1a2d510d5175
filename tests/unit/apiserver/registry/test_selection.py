"""Field selectors where one object is served by several groups or versions, each with fields of its own."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import ListOptions
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]
CORE = GroupVersionKind("", "v1", "Event")
EVENTS = GroupVersionKind("events.k8s.io", "v1", "Event")
OLD = GroupVersionKind("example.com", "v1", "Widget")
NEW = GroupVersionKind("example.com", "v2", "Widget")


async def selected(api: API, gvk: GroupVersionKind, selector: str) -> int:
    listed = await verbs.list_objects(api._request("list", gvk, "default"), ListOptions(field_selector=selector))
    return len(listed.values)


@pytest.fixture
async def event(api: API) -> Object:
    return await api.create(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "action": "Do",
            "reason": "Test",
            "type": "Normal",
            "reportingController": "controller",
            "reportingInstance": "node",
        }
    )


@pytest.mark.usefixtures("event")
async def test_an_event_is_selected_by_the_names_of_either_group(api: API) -> None:
    for _ in range(2):  # what one group has worked out does not confuse the other
        assert await selected(api, CORE, "source=controller,involvedObject.name=p") == 1
        assert await selected(api, EVENTS, "reportingController=controller,regarding.name=p") == 1
        assert await selected(api, EVENTS, "reportingController=other") == 0
        assert await selected(api, CORE, "reportingComponent=other") == 0


async def test_a_watch_selects_by_the_names_of_its_group(api: API, event: Object) -> None:
    options = ListOptions(field_selector="regarding.name=p", resource_version=event["metadata"]["resourceVersion"])
    async with api.watch(EVENTS, "default", options=options) as events:
        for name in ("other", "p"):
            metadata = {"name": f"about-{name}", "namespace": "default"}
            await api.create({**event, "metadata": metadata, "regarding": {**event["regarding"], "name": name}})
        await api.patch(CORE, "e", "default", {"reason": "Again"})
        seen = [await anext(events), await anext(events)]
    assert [(one.type, one.object["metadata"]["name"]) for one in seen] == [
        ("ADDED", "about-p"),
        ("MODIFIED", "e"),
    ]


async def test_versions_of_a_custom_kind_have_fields_of_their_own(api: API) -> None:
    def version(name: str, field: str) -> Object:
        schema = {"type": "object", "properties": {"host": {"type": "string"}, "port": {"type": "string"}}}
        return {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {"openAPIV3Schema": schema},
            "selectableFields": [{"jsonPath": field}],
        }

    await api.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [version("v1", ".host"), version("v2", ".port")],
            },
        }
    )
    metadata = {"name": "w", "namespace": "default"}
    await api.create(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "host": "h", "port": "80"}
    )
    for _ in range(2):
        assert await selected(api, OLD, "host=h") == 1
        assert await selected(api, OLD, "host=other") == 0
        assert await selected(api, NEW, "port=80") == 1
        assert await selected(api, NEW, "port=81") == 0
