"""Updates and patches: versions, what cannot be changed, and writes that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.registry.objects import same
from kapstan.apiserver.request import WriteOptions
from kapstan.apiserver.server import EmbeddedServer
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.errors import APIError, BadRequest, Conflict, Invalid, NotFound
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


@pytest.fixture
async def created(api: API) -> dict[str, Any]:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    return await api.create({**document, "data": {"a": "1"}})


async def test_an_update_replaces_the_object(api: API, created: dict[str, Any]) -> None:
    created["data"] = {"b": "2"}
    updated = await api.update(created)
    assert updated["data"] == {"b": "2"}
    assert int(updated["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert await api.get(CONFIG_MAP, "a", "default") == updated


async def test_an_update_of_an_old_version_is_a_conflict(api: API, created: dict[str, Any]) -> None:
    await api.update({**created, "data": {"b": "2"}})
    with pytest.raises(Conflict) as refused:
        await api.update({**created, "data": {"b": "3"}})
    assert str(refused.value) == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_without_a_version_the_latest_is_updated(api: API, created: dict[str, Any]) -> None:
    await api.update({**created, "data": {"b": "2"}})
    del created["metadata"]["resourceVersion"]
    assert (await api.update({**created, "data": {"c": "3"}}))["data"] == {"c": "3"}


async def test_what_is_not_there_cannot_be_updated(api: API, created: dict[str, Any]) -> None:
    created["metadata"]["name"] = "b"
    with pytest.raises(NotFound, match='configmaps "b" not found'):
        await api.update(created)


async def test_kinds_that_allow_it_are_created_by_an_update(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api._served(CONFIG_MAP).strategy, "allow_create_on_update", True)
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "default"}}
    request = api._request("update", CONFIG_MAP, "default", "new")
    outcome = await verbs.update(request, document)
    assert outcome.created
    assert outcome.object()["metadata"]["uid"]


async def test_the_uid_of_another_object_is_a_conflict(api: API, created: dict[str, Any]) -> None:
    created["metadata"]["uid"] = "other"
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other, UID in object meta: "):
        await api.update(created)


async def test_an_update_cannot_change_what_the_server_set(api: API, created: dict[str, Any]) -> None:
    changed = {**created, "metadata": {**created["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z", "uid": ""}}
    changed["data"] = {"b": "2"}
    metadata = (await api.update(changed))["metadata"]
    assert metadata["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    assert metadata["uid"] == created["metadata"]["uid"]


async def test_the_name_in_the_body_must_be_that_of_the_url(api: API, created: dict[str, Any]) -> None:
    request = api._request("update", CONFIG_MAP, "default", "b")
    with pytest.raises(BadRequest, match=r"name of the object \(a\) does not match the name on the URL \(b\)"):
        await verbs.update(request, created)


async def test_a_write_that_changes_nothing_is_none(server: EmbeddedServer, created: dict[str, Any]) -> None:
    """The version stays, and no watcher hears of it."""
    heard: list[Event] = []
    server.cluster.storage.observe(heard.append)
    api = server.cluster.api
    assert await api.update(created) == created
    patched = await api.patch(CONFIG_MAP, "a", "default", {"data": {"a": "1"}}, field_manager="somebody-else")
    assert patched == created
    assert heard == []


def test_a_number_is_not_a_truth_value() -> None:
    """What Python takes for equal is a change all the same."""
    assert not same({"a": 1}, {"a": True})
    assert same({"a": 1, "b": [1]}, {"b": [1], "a": 1})


async def test_a_rehearsed_update_changes_nothing(api: API, created: dict[str, Any]) -> None:
    rehearsed = await api.update({**created, "data": {"b": "2"}}, dry_run=True)
    assert rehearsed["data"] == {"b": "2"}
    assert rehearsed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert await api.get(CONFIG_MAP, "a", "default") == created


async def test_patches_of_all_kinds(api: API, created: dict[str, Any]) -> None:
    async def patch(type: Any, body: Any) -> Any:
        return (await api.patch(CONFIG_MAP, "a", "default", body, type=type, force=False))["data"]

    assert await patch("application/merge-patch+json", {"data": {"b": "2"}}) == {"a": "1", "b": "2"}
    remove = [{"op": "remove", "path": "/data/a"}]
    assert await patch("application/json-patch+json", remove) == {"b": "2"}
    assert await patch("application/strategic-merge-patch+json", {"data": {"b": None, "c": "3"}}) == {"c": "3"}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    assert await patch("application/apply-patch+yaml", {**config, "data": {"d": "4"}}) == {"c": "3", "d": "4"}


async def test_a_patch_of_an_old_version_is_a_conflict(api: API, created: dict[str, Any]) -> None:
    await api.patch(CONFIG_MAP, "a", "default", {"data": {"b": "2"}})
    old = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"]}, "data": {"c": "3"}}
    with pytest.raises(Conflict, match="the object has been modified"):
        await api.patch(CONFIG_MAP, "a", "default", old)


async def test_a_json_patch_whose_test_fails_is_refused(api: API, created: dict[str, Any]) -> None:
    patch = [{"op": "test", "path": "/data/a", "value": "9"}, {"op": "remove", "path": "/data/a"}]
    with pytest.raises(Invalid):
        await api.patch(CONFIG_MAP, "a", "default", patch, type="application/json-patch+json")
    assert (await api.get(CONFIG_MAP, "a", "default"))["data"] == {"a": "1"}


async def test_a_patch_cannot_turn_an_object_into_something_else(api: API, created: dict[str, Any]) -> None:
    for patch in ({"kind": "Secret"}, {"apiVersion": "v2"}, {"metadata": "x"}, {"metadata": {"name": "b"}}):
        with pytest.raises(APIError) as refused:
            await api.patch(CONFIG_MAP, "a", "default", patch)
        assert refused.value.status.code in (400, 422)
    assert await api.get(CONFIG_MAP, "a", "default") == created


async def test_a_patch_with_the_wrong_type_is_invalid(api: API, created: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="cannot unmarshal"):
        await api.patch(CONFIG_MAP, "a", "default", {"data": "text"})


async def test_strict_patches_are_refused_for_unknown_fields(api: API, created: dict[str, Any]) -> None:
    request = api._request("patch", CONFIG_MAP, "default", "a", options=WriteOptions(field_validation="Strict"))
    with pytest.raises(Invalid, match='strict decoding error: unknown field "foo"'):
        await verbs.patch(request, "application/merge-patch+json", {"foo": 1})


async def test_concurrent_patches_all_take_effect(durable: EmbeddedServer) -> None:
    """Each is applied to what the others wrote, though all of them wait for the disk at the same time."""
    api = durable.cluster.api
    await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    patches = (api.patch(CONFIG_MAP, "a", "default", {"data": {str(n): "x"}}) for n in range(50))
    await asyncio.gather(*patches)
    assert len((await api.get(CONFIG_MAP, "a", "default"))["data"]) == 50


async def test_of_concurrent_updates_of_one_version_one_wins(durable: EmbeddedServer) -> None:
    api = durable.cluster.api
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    created = await api.create(document)
    updates = (api.update({**created, "data": {"n": str(n)}}) for n in range(10))
    results = await asyncio.gather(*updates, return_exceptions=True)
    assert sum(isinstance(result, dict) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 9


async def test_apply_creates_what_is_missing_and_needs_force_for_what_is_owned(api: API) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

    async def apply(manager: str, data: dict[str, str], force: bool = False) -> Any:
        body = {**config, "data": data}
        type: Any = "application/apply-patch+yaml"
        return await api.patch(CONFIG_MAP, "a", "default", body, type=type, force=force, field_manager=manager)

    assert (await apply("one", {"a": "1"}))["metadata"]["uid"]
    assert (await apply("two", {"b": "2"}))["data"] == {"a": "1", "b": "2"}
    with pytest.raises(Conflict) as refused:
        await apply("two", {"a": "9", "b": "2"})
    assert [(cause.reason, cause.field) for cause in refused.value.causes] == [("FieldManagerConflict", ".data.a")]
    assert (await apply("two", {"a": "9", "b": "2"}, force=True))["data"] == {"a": "9", "b": "2"}
    assert (await apply("one", {}))["data"] == {"a": "9", "b": "2"}
    assert "data" not in await apply("two", {})


async def test_finalizers_can_be_removed_but_not_added_to_what_is_being_deleted(api: API) -> None:
    metadata = {"name": "a", "namespace": "default", "finalizers": ["example.com/one", "example.com/two"]}
    await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await api.delete(CONFIG_MAP, "a", "default")
    with pytest.raises(Invalid, match="no new finalizers can be added if the object is being deleted"):
        await api.patch(CONFIG_MAP, "a", "default", {"metadata": {"finalizers": ["example.com/three"]}})
    left = await api.patch(CONFIG_MAP, "a", "default", {"metadata": {"finalizers": ["example.com/two"]}})
    assert left["metadata"]["deletionTimestamp"]
    gone = await api.patch(CONFIG_MAP, "a", "default", {"metadata": {"finalizers": None}})
    assert "finalizers" not in gone["metadata"]
    assert await api.find(CONFIG_MAP, "a", "default") is None
