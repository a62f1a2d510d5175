"""Every write, typed and as dictionaries, against an API server."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.client import Client, PartialObjectMetadata, Patch, Writer, metadata_of, retry_on_conflict
from kapstan.k8s import apps_v1 as apps
from kapstan.k8s import authentication_v1 as authentication
from kapstan.k8s import core_v1 as core
from kapstan.machinery.errors import AlreadyExists, BadRequest, Conflict, Invalid, NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import LabelSelector, ObjectMeta
from kapstan.machinery.owners import AlreadyOwned

from .conftest import WIDGET, Part, Widget, WidgetSpec, WidgetStatus

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def named(namespace: str, name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace)


def config_map(namespace: str, name: str, **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=named(namespace, name), data=data)


def plain_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(namespace: str, name: str = "web") -> apps.Deployment:
    labels = {"app": name}
    return apps.Deployment(
        metadata=named(namespace, name),
        spec=apps.DeploymentSpec(
            replicas=1,
            selector=LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="c", image="example/web:1")]),
            ),
        ),
    )


async def managers(api: Client, namespace: str, name: str) -> dict[str, str]:
    found = await api.get(metadata_of(core.ConfigMap), name, namespace)
    return {entry.manager: entry.operation for entry in found.metadata.managed_fields}


async def test_create(api: Client, namespace: str) -> None:
    typed = await api.create(config_map(namespace, "typed", a="1"))
    assert typed.uid
    assert typed.data == {"a": "1"}
    untyped = await api.create(plain_map(namespace, "untyped", a="1"))
    assert untyped["metadata"]["uid"]
    with pytest.raises(AlreadyExists, match=f'create ConfigMap {namespace}/typed: configmaps "typed" already exists'):
        await api.create(config_map(namespace, "typed"))
    generated = await api.create(core.ConfigMap(metadata=ObjectMeta(generate_name="g-", namespace=namespace)))
    assert generated.name.startswith("g-")
    assert await managers(api, namespace, "typed") == {"tests": "Update"}
    with pytest.raises(BadRequest, match="a namespace is needed"):
        await api.create(core.ConfigMap(metadata=ObjectMeta(name="x")))
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await api.create(config_map("nowhere", "x"))


async def test_invalid_objects_name_their_fields(api: Client, namespace: str) -> None:
    bad = deployment(namespace, "web")
    bad.spec.template.metadata = ObjectMeta(labels={"app": "other"})
    with pytest.raises(Invalid, match=f"create Deployment {namespace}/web: ") as caught:
        await api.create(bad)
    assert [cause.field for cause in caught.value.causes] == ["spec.template.metadata.labels"]


async def test_update_replaces_dictionaries(api: Client, namespace: str) -> None:
    created = await api.create(plain_map(namespace, "a", x="1"))
    updated = await api.update({**created, "data": {"y": "2"}})
    assert updated["data"] == {"y": "2"}
    with pytest.raises(Conflict, match=f"update ConfigMap {namespace}/a: .*the object has been modified"):
        await api.update({**created, "data": {"z": "3"}})
    with pytest.raises(TypeError, match="update takes dictionaries only: a ConfigMap is written with edit, patch"):
        await api.update(config_map(namespace, "a"))  # type: ignore[arg-type]


async def test_all_four_patches(api: Client, namespace: str) -> None:
    created = await api.create(deployment(namespace))
    merged = await api.patch(created, Patch.merge({"metadata": {"labels": {"merged": "yes"}}}))
    assert merged.metadata.labels == {"merged": "yes"}
    jsoned = await api.patch(created, Patch.json([{"op": "replace", "path": "/spec/replicas", "value": 3}]))
    assert jsoned.spec.replicas == 3
    container = {"name": "c", "image": "example/web:2"}
    strategic = await api.patch(created, Patch.strategic({"spec": {"template": {"spec": {"containers": [container]}}}}))
    assert strategic.spec.template.spec is not None
    assert [each.image for each in strategic.spec.template.spec.containers] == ["example/web:2"]
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"annotations": {"applied": "yes"}}}
    applied = await api.patch(created, Patch("application/apply-patch+yaml", body), field_manager="other")
    assert applied.metadata.annotations["applied"] == "yes"
    by_name = await api.patch_named(
        GroupVersionKind("apps", "v1", "Deployment"), "web", namespace, Patch.merge({"spec": {"paused": True}})
    )
    assert by_name["spec"]["paused"] is True
    metadata = await api.get(metadata_of(apps.Deployment), "web", namespace)
    labelled = await api.patch(metadata, Patch.merge({"metadata": {"labels": {"merged": None, "meta": "1"}}}))
    assert isinstance(labelled, PartialObjectMetadata)
    assert labelled.metadata.labels == {"meta": "1"}


async def test_a_patch_may_be_locked(api: Client, namespace: str) -> None:
    read = await api.create(config_map(namespace, "a", x="1"))
    await api.patch(read, Patch.merge({"data": {"x": "2"}}))
    wanted = config_map(namespace, "a", x="3")
    wanted.metadata = read.metadata
    with pytest.raises(Conflict):
        await api.patch(read, Patch.diff(read, wanted, optimistic_lock=True))
    assert (await api.patch(read, Patch.diff(read, wanted))).data == {"x": "3"}


async def test_apply_owns_what_it_says(api: Client, namespace: str) -> None:
    applied = await api.apply(config_map(namespace, "a", mine="1"))
    assert applied.data == {"mine": "1"}
    other = await api.apply(config_map(namespace, "a", theirs="2"), field_manager="other")
    assert other.data == {"mine": "1", "theirs": "2"}
    with pytest.raises(Conflict, match=r'apply ConfigMap .*conflict with "tests"'):
        await api.apply(config_map(namespace, "a", mine="3"), field_manager="other", force=False)
    assert (await api.apply(config_map(namespace, "a", mine="3"), field_manager="other")).data == {"mine": "3"}
    assert (await api.apply(plain_map(namespace, "a", mine="4"))).get("data") == {"mine": "4"}
    assert await managers(api, namespace, "a") == {"tests": "Apply"}


async def test_what_was_read_can_be_applied(api: Client, namespace: str) -> None:
    """Neither managedFields nor a stale resourceVersion is in the way."""
    read = await api.apply(config_map(namespace, "a", x="1"))
    await api.patch(read, Patch.merge({"metadata": {"labels": {"new": "1"}}}))
    read.data["x"] = "2"
    assert (await api.apply(read)).data == {"x": "2"}


async def test_apply_makes_an_owner_the_controller(api: Client, namespace: str) -> None:
    owner = await api.create(config_map(namespace, "owner"))
    owned = await api.apply(config_map(namespace, "owned"), owner=owner)
    reference = owned.controller_ref()
    assert reference is not None
    assert (reference.uid, reference.kind, reference.block_owner_deletion) == (owner.uid, "ConfigMap", True)
    plain = await api.apply(plain_map(namespace, "plain"), owner=owner)
    assert [each["uid"] for each in plain["metadata"]["ownerReferences"]] == [owner.uid]
    other = await api.create(config_map(namespace, "other"))
    with pytest.raises(AlreadyOwned, match="is already controlled by ConfigMap 'owner'"):
        await api.apply(owned, owner=other)


async def test_status_is_a_part_of_its_own(api: Client, namespace: str, widgets: type[Widget]) -> None:
    created = await api.create(Widget(metadata=named(namespace, "w"), status=WidgetStatus(phase="ignored")))
    assert (created.spec.size, created.status.phase) == (1, "")
    patched = await api.patch(
        created, Patch.merge({"status": {"phase": "New"}, "spec": {"size": 9}}), subresource="status"
    )
    assert (patched.status.phase, patched.spec.size) == ("New", 1)
    applied = await api.apply(
        Widget(metadata=named(namespace, "w"), status=WidgetStatus(phase="Applied")), subresource="status"
    )
    assert applied.status.phase == "Applied"
    got = await api.get(Widget, "w", namespace, subresource="status")
    assert got.status.phase == "Applied"
    untyped = await api.get(WIDGET, "w", namespace)
    untyped["status"]["note"] = "unknown to the class"
    assert (await api.update(untyped, subresource="status"))["status"]["note"] == "unknown to the class"


async def test_an_edit_sends_only_what_changed(api: Client, namespace: str, widgets: type[Widget]) -> None:
    body = {
        "apiVersion": WIDGET.api_version,
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace},
        "spec": {"size": 2, "note": "unknown to the class"},
    }
    await api.create(body)
    widget = await api.get(Widget, "w", namespace)
    async with api.edit(widget) as draft:
        draft.spec.size = 3
        draft.metadata.labels["edited"] = "yes"
    assert widget.spec.size == 2
    assert draft.metadata.generation == 2
    after = await api.get(WIDGET, "w", namespace)
    assert after["spec"] == {"size": 3, "note": "unknown to the class"}
    assert after["metadata"]["labels"] == {"edited": "yes"}
    async with api.edit(draft) as same:
        same.spec.size = 3
    async with api.edit(draft, subresource="status") as unchanged:
        unchanged.spec.size = 4  # not a part of the status
    assert (await api.get(WIDGET, "w", namespace))["metadata"]["resourceVersion"] == draft.metadata.resource_version
    async with api.edit(draft, subresource="status") as status:
        status.status.phase = "Edited"
    async with api.edit(after) as plain:
        plain["spec"]["note"] = "changed"
    assert plain["status"] == {"phase": "Edited"}
    with pytest.raises(RuntimeError):
        async with api.edit(draft) as lost:
            lost.spec.size = 99
            raise RuntimeError
    assert (await api.get(Widget, "w", namespace)).spec.size == 3


async def test_a_locked_edit_notices_others(api: Client, namespace: str, widgets: type[Widget]) -> None:
    widget = await api.create(Widget(metadata=named(namespace, "w"), spec=WidgetSpec(parts=[Part(name="a")])))
    async with api.edit(widget) as other:
        other.spec.size = 5
    with pytest.raises(Conflict):
        async with api.edit(widget, optimistic_lock=True) as draft:
            draft.spec.parts.append(Part(name="b"))

    async def add_part() -> Widget:
        fresh = await api.get(Widget, "w", namespace)
        async with api.edit(fresh, optimistic_lock=True) as draft:
            draft.spec.parts.append(Part(name="b"))
        return draft

    assert [part.name for part in (await retry_on_conflict(add_part)).spec.parts] == ["a", "b"]


async def test_scale(api: Client, namespace: str, widgets: type[Widget]) -> None:
    widget = await api.create(Widget(metadata=named(namespace, "w")))
    assert (await api.get_scale(widget)).spec.replicas == 1
    assert (await api.scale(widget, replicas=4)).spec.replicas == 4
    assert (await api.get(Widget, "w", namespace)).spec.size == 4
    await api.create(deployment(namespace))
    assert (await api.scale(apps.Deployment, "web", namespace, replicas=0)).spec.replicas == 0
    as_dictionary = await api.get(GroupVersionKind("apps", "v1", "Deployment"), "web", namespace, subresource="scale")
    assert as_dictionary["kind"] == "Scale"
    with pytest.raises(TypeError, match=r"use client\.scale"):
        await api.patch(widget, Patch.merge({"spec": {"replicas": 1}}), subresource="scale")


async def test_a_subresource_is_created_at_its_parent(api: Client, namespace: str) -> None:
    account = await api.create(core.ServiceAccount(metadata=named(namespace, "robot")))
    request = authentication.TokenRequest(spec=authentication.TokenRequestSpec(expiration_seconds=600))
    granted = await api.create(request, parent=account, subresource="token")
    assert granted.status.token
    async with Client(api.config.anonymous().replace(token=granted.status.token)) as robot:
        review = await robot.create(authentication.SelfSubjectReview())
        assert review.status.user_info is not None
        assert review.status.user_info.username == f"system:serviceaccount:{namespace}:robot"


async def test_a_pod_can_be_evicted(api: Client, namespace: str) -> None:
    pod = core.Pod(
        metadata=named(namespace, "p"), spec=core.PodSpec(containers=[core.Container(name="c", image="example/x")])
    )
    await api.apply(core.ServiceAccount(metadata=named(namespace, "default")))  # where no controller makes it
    await api.create(pod)
    await api.evict("p", namespace, dry_run=True)
    assert await api.find(core.Pod, "p", namespace) is not None
    await api.evict("p", namespace, grace_period=0)
    assert await api.find(core.Pod, "p", namespace) is None
    with pytest.raises(NotFound, match=f'evict Pod {namespace}/p: pods "p" not found'):
        await api.evict("p", namespace)


async def test_delete(api: Client, namespace: str) -> None:
    for name in ("a", "b", "c"):
        await api.create(config_map(namespace, name))
    await api.delete(core.ConfigMap, "a", namespace)
    assert await api.find(core.ConfigMap, "a", namespace) is None
    await api.delete(core.ConfigMap, "a", namespace)
    with pytest.raises(NotFound, match=f'delete ConfigMap {namespace}/a: configmaps "a" not found'):
        await api.delete(core.ConfigMap, "a", namespace, missing_ok=False)
    await api.delete(await api.get(CONFIG_MAP, "b", namespace))
    await api.delete(await api.get(metadata_of(core.ConfigMap), "c", namespace))
    assert [each.name for each in await api.list(core.ConfigMap, namespace) if len(each.name) == 1] == []


async def test_delete_with_conditions(api: Client, namespace: str) -> None:
    old = await api.create(config_map(namespace, "a"))
    new = await api.patch(old, Patch.merge({"data": {"x": "1"}}))
    with pytest.raises(Conflict):
        await api.delete(old, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(Conflict):
        await api.delete(old, resource_version=old.metadata.resource_version)
    await api.delete(new, uid=new.uid, resource_version=new.metadata.resource_version, propagation="Background")
    assert await api.find(core.ConfigMap, "a", namespace) is None
    metadata = ObjectMeta(name="held", namespace=namespace, finalizers=["example.com/hold"])
    held = await api.create(core.ConfigMap(metadata=metadata))
    await api.delete(held, propagation="Foreground")
    waiting = await api.get(core.ConfigMap, "held", namespace)
    assert waiting.deleting
    assert "example.com/hold" in waiting.metadata.finalizers  # beside `foregroundDeletion`, until that is collected


async def test_delete_all_of(api: Client, namespace: str) -> None:
    for name, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        created = config_map(namespace, name)
        created.metadata.labels = {"colour": colour}
        await api.create(created)
    await api.delete_all_of(core.ConfigMap, namespace, labels="colour=red", dry_run=True)
    assert len(await api.list(core.ConfigMap, namespace, labels="colour")) == 3
    await api.delete_all_of(core.ConfigMap, namespace, labels={"colour": "red"})
    assert [each.name for each in await api.list(core.ConfigMap, namespace, labels="colour")] == ["c"]
    await api.delete_all_of(CONFIG_MAP, namespace, labels="colour", fields={"metadata.name": "c"})
    assert await api.list(core.ConfigMap, namespace, labels="colour") == []
    with pytest.raises(BadRequest, match="a namespace is needed"):
        await api.delete_all_of(core.ConfigMap)


async def test_a_dry_run_changes_nothing(api: Client, namespace: str) -> None:
    dry = api.with_options(dry_run=True)
    assert (await dry.create(config_map(namespace, "a", x="1"))).uid
    assert await api.find(core.ConfigMap, "a", namespace) is None
    real = await api.create(config_map(namespace, "a", x="1"))
    assert (await dry.patch(real, Patch.merge({"data": {"x": "2"}}))).data == {"x": "2"}
    assert (await api.apply(config_map(namespace, "a", x="3"), dry_run=True)).data == {"x": "3"}
    await dry.delete(real)
    await dry.delete_all_of(core.ConfigMap, namespace)
    assert await api.get(core.ConfigMap, "a", namespace) == real


async def test_unknown_fields_can_be_refused(api: Client, namespace: str) -> None:
    odd = {**plain_map(namespace, "odd", x="1"), "nonsense": 1}
    with pytest.raises(BadRequest, match='unknown field "nonsense"'):
        await api.create(odd, field_validation="Strict")
    strict = api.with_options(field_validation="Strict", field_manager="strict")
    with pytest.raises(BadRequest):
        await strict.create(odd)
    await strict.create(odd, field_validation="Ignore")
    assert await managers(api, namespace, "odd") == {"strict": "Update"}


async def test_a_bound_client_writes_in_its_namespace(api: Client, namespace: str) -> None:
    bound = api.with_options(namespace=namespace)
    created = await bound.create(core.ConfigMap(metadata=ObjectMeta(name="a"), data={"x": "1"}))
    assert created.namespace == namespace
    with pytest.raises(
        BadRequest, match=f'create ConfigMap default/b: this client is bound to namespace "{namespace}"'
    ):
        await bound.create(config_map("default", "b"))
    await bound.delete(core.ConfigMap, "a")
    assert await api.find(core.ConfigMap, "a", namespace) is None


async def test_the_client_is_a_writer(api: Client, namespace: str) -> None:
    writer: Writer = api
    assert (await writer.create(config_map(namespace, "a"))).name == "a"
