"""Creating objects: what the server fills in, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry import create as creating
from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.registry.fitting import MAX_OBJECT
from kapstan.apiserver.request import WriteOptions
from kapstan.machinery.errors import AlreadyExists, APIError, BadRequest, Invalid, NotFound
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def config_map(name: str = "", **metadata: Any) -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**named, "namespace": "default", **metadata},
        "data": {"a": "1"},
    }


async def test_the_server_fills_in_identity_and_time(api: API) -> None:
    sent = config_map("a", uid="mine", creationTimestamp="2001-01-01T00:00:00Z", deletionGracePeriodSeconds=5)
    created = await api.create(sent)
    metadata = created["metadata"]
    assert metadata["uid"] not in ("", "mine")
    assert metadata["creationTimestamp"] != "2001-01-01T00:00:00Z"
    assert "deletionGracePeriodSeconds" not in metadata
    assert int(metadata["resourceVersion"]) > 0
    assert created["data"] == {"a": "1"}
    assert await api.get(CONFIG_MAP, "a", "default") == created


async def test_a_name_can_be_taken_once(api: API) -> None:
    await api.create(config_map("a"))
    with pytest.raises(AlreadyExists) as refused:
        await api.create(config_map("a"))
    assert str(refused.value) == 'configmaps "a" already exists'
    details = refused.value.status.details
    assert details is not None and (details.name, details.kind, details.group) == ("a", "configmaps", "")


async def test_a_name_is_taken_until_the_last_finalizer_is_gone(api: API) -> None:
    await api.create(config_map("a", finalizers=["example.com/wait"]))
    await api.delete(CONFIG_MAP, "a", "default")
    with pytest.raises(AlreadyExists, match="object is being deleted: configmaps"):
        await api.create(config_map("a"))


async def test_what_etcd_would_not_take_is_refused(api: API) -> None:
    """Names of fields count only for custom kinds and definitions, which etcd has as JSON."""
    await api.create({**config_map("lines"), "data": {"a": "\n" * 1_000_000}})
    subject = {"kind": "User", "name": "x" * MAX_OBJECT, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "a", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [subject],
    }
    with pytest.raises(APIError, match="etcdserver: request is too large") as refused:
        await api.create(binding)
    assert refused.value.status.code == 500


async def test_names_are_generated(api: API) -> None:
    created = await api.create(config_map(generateName="web-"))
    name = created["metadata"]["name"]
    assert name.startswith("web-") and len(name) == len("web-") + 5


async def test_a_generated_name_that_is_taken_is_generated_again(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["web-1", "web-1", "web-1", "web-2"])
    monkeypatch.setattr(creating, "generate_name", lambda base: next(names))
    await api.create(config_map(generateName="web-"))
    assert (await api.create(config_map(generateName="web-")))["metadata"]["name"] == "web-2"


async def test_after_eight_taken_names_the_server_gives_up(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def generate(base: str) -> str:
        tried.append(base)
        return "web-1"

    await api.create(config_map("web-1"))
    monkeypatch.setattr(creating, "generate_name", generate)
    with pytest.raises(AlreadyExists, match="not able to generate a unique name") as refused:
        await api.create(config_map(generateName="web-"))
    assert len(tried) == 8
    assert refused.value.retry_after == 1


async def test_an_object_of_another_namespace_is_refused(api: API) -> None:
    request = api._request("create", CONFIG_MAP, "default")
    with pytest.raises(BadRequest, match="does not match the namespace sent on the request"):
        await verbs.create(request, config_map("a", namespace="kube-system"))


async def test_the_namespace_must_exist(api: API) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await api.create(config_map("a", namespace="nowhere"))


async def test_a_new_object_has_no_resource_version(api: API) -> None:
    with pytest.raises(APIError, match="resourceVersion should not be set on objects to be created") as refused:
        await api.create(config_map("a", resourceVersion="7"))
    assert refused.value.status.code == 500


async def test_a_rehearsed_object_may_have_one(api: API) -> None:
    """A client may try out what it read elsewhere."""
    rehearsed = await api.create(config_map("a", resourceVersion="7"), dry_run=True)
    assert rehearsed["metadata"]["name"] == "a"
    with pytest.raises(NotFound):
        await api.get(CONFIG_MAP, "a", "default")


async def test_what_is_wrong_with_metadata_is_told_field_by_field(api: API) -> None:
    with pytest.raises(Invalid) as refused:
        await api.create(config_map("A_b", labels={"-": "x"}))
    fields = [cause.field for cause in refused.value.causes]
    assert fields == ["metadata.name", "metadata.labels"]
    assert str(refused.value).startswith('ConfigMap "A_b" is invalid: [metadata.name: Invalid value: "A_b": ')


async def test_another_kind_is_refused(api: API) -> None:
    request = api._request("create", CONFIG_MAP, "default")
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    with pytest.raises(BadRequest, match='Secret in version "v1" cannot be handled as a ConfigMap'):
        await verbs.create(request, body)
    with pytest.raises(BadRequest, match='no kind "ConfigMap" is registered for version "apps/v1"'):
        await verbs.create(request, {**body, "apiVersion": "apps/v1", "kind": "ConfigMap"})


async def test_a_built_in_kind_need_not_say_what_it_is(api: API) -> None:
    request = api._request("create", CONFIG_MAP, "default")
    created = (await verbs.create(request, {"metadata": {"name": "a"}})).object()
    assert (created["apiVersion"], created["kind"]) == ("v1", "ConfigMap")


async def test_a_rehearsal_changes_nothing_but_is_checked(api: API) -> None:
    rehearsed = await api.create(config_map("a"), dry_run=True)
    assert rehearsed["metadata"]["uid"]
    assert "resourceVersion" not in rehearsed["metadata"]
    assert await api.find(CONFIG_MAP, "a", "default") is None
    await api.create(config_map("a"))
    with pytest.raises(AlreadyExists):
        await api.create(config_map("a"), dry_run=True)


async def test_duplicate_owners_are_dropped_with_a_warning(api: API) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    request = api._request("create", CONFIG_MAP, "default")
    created = (await verbs.create(request, config_map("a", ownerReferences=[owner, dict(owner)]))).object()
    assert created["metadata"]["ownerReferences"] == [owner]
    assert "duplicate UID(s) observed: u" in request.warnings[0]


async def test_unknown_fields_are_reported_as_the_client_wants(api: API) -> None:
    def request(validation: Any) -> Any:
        options = WriteOptions(field_validation=validation)
        return api._request("create", CONFIG_MAP, "default", options=options)

    body = {**config_map("a"), "foo": 1}
    with pytest.raises(BadRequest, match='strict decoding error: unknown field "foo"'):
        await verbs.create(request("Strict"), dict(body))
    warned, ignored = request("Warn"), request("Ignore")
    created = (await verbs.create(warned, dict(body))).object()
    assert "foo" not in created
    assert warned.warnings == ['unknown field "foo"']
    await verbs.create(ignored, {**body, "metadata": {"name": "b"}})
    assert ignored.warnings == []


async def test_who_created_it_owns_its_fields(api: API) -> None:
    created = await api.create(config_map("a"))
    (entry,) = created["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("kapstan", "Update", "v1")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}
