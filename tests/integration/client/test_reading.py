"""Every read, typed, as dictionaries and as metadata, against an API server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kapstan.client import (
    Client,
    Impersonation,
    NoKindMatch,
    PartialObjectMetadata,
    Reader,
    UnexpectedAnswer,
    metadata_of,
)
from kapstan.k8s import core_v1 as core
from kapstan.k8s import rbac_v1 as rbac
from kapstan.machinery.codec import decode, decode_any
from kapstan.machinery.errors import BadRequest, Forbidden, NotFound
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource

from .conftest import WIDGET, Widget

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
UNKNOWN = GroupVersionKind("nowhere.kapstan.test", "v1", "Ghost")


class MisreadData(Model):
    key: int


class Misread(Resource):
    """A ConfigMap, by somebody who thinks that its values are numbers."""

    data: MisreadData


Misread.__resource__ = core.ConfigMap.__resource__


def config_map(namespace: str, name: str, **data: str) -> core.ConfigMap:
    metadata = ObjectMeta(name=name, namespace=namespace, labels={"of": name[0]})
    return core.ConfigMap(metadata=metadata, data=data)


@pytest.fixture
async def maps(api: Client, namespace: str) -> list[core.ConfigMap]:
    return [await api.create(config_map(namespace, name, key=name)) for name in ("a1", "a2", "b1")]


async def test_get_in_all_three_shapes(api: Client, maps: list[core.ConfigMap]) -> None:
    name, namespace = maps[0].name, maps[0].namespace
    typed = await api.get(core.ConfigMap, name, namespace)
    assert typed == maps[0]
    assert (typed.api_version, typed.kind, typed.data) == ("v1", "ConfigMap", {"key": "a1"})
    untyped = await api.get(CONFIG_MAP, name, namespace)
    assert (untyped["kind"], untyped["data"]) == ("ConfigMap", {"key": "a1"})
    metadata = await api.get(metadata_of(core.ConfigMap), name, namespace)
    assert isinstance(metadata, PartialObjectMetadata)
    assert (metadata.gvk, metadata.metadata) == (CONFIG_MAP, typed.metadata)


async def test_what_is_not_there(api: Client, namespace: str) -> None:
    with pytest.raises(NotFound) as caught:
        await api.get(core.ConfigMap, "none", namespace)
    assert str(caught.value) == f'get ConfigMap {namespace}/none: configmaps "none" not found'
    assert await api.find(core.ConfigMap, "none", namespace) is None
    assert await api.find(CONFIG_MAP, "none", namespace) is None
    assert await api.find(metadata_of(CONFIG_MAP), "none", namespace) is None
    with pytest.raises(BadRequest, match='ConfigMap "x": a namespace is needed, for every ConfigMap is in one'):
        await api.get(core.ConfigMap, "x")
    with pytest.raises(BadRequest, match="ConfigMap: a name is needed"):
        await api.get(core.ConfigMap, "", namespace)


async def test_cluster_scoped_objects_need_no_namespace(api: Client, namespace: str) -> None:
    assert (await api.get(core.Namespace, namespace)).name == namespace
    assert (await api.get(core.Namespace, namespace, "ignored")).name == namespace
    assert (await api.get(rbac.ClusterRole, "system:discovery")).name == "system:discovery"


async def test_list_in_all_three_shapes(api: Client, maps: list[core.ConfigMap]) -> None:
    namespace = maps[0].namespace
    typed = await api.list(core.ConfigMap, namespace)
    assert [each.name for each in typed if each.name != "kube-root-ca.crt"] == ["a1", "a2", "b1"]
    assert int(typed.resource_version) >= int(maps[-1].metadata.resource_version)
    assert typed[0].kind == "ConfigMap"
    untyped = await api.list(CONFIG_MAP, namespace, labels={"of": "a"})
    assert [(each["kind"], each["apiVersion"], each["metadata"]["name"]) for each in untyped] == [
        ("ConfigMap", "v1", "a1"),
        ("ConfigMap", "v1", "a2"),
    ]
    metadata = await api.list(metadata_of(core.ConfigMap), namespace, labels="of in (b)")
    assert [(each.gvk, each.name) for each in metadata] == [(CONFIG_MAP, "b1")]


async def test_selectors(api: Client, maps: list[core.ConfigMap]) -> None:
    namespace = maps[0].namespace

    async def names(**options: Any) -> list[str]:
        return [each.name for each in await api.list(core.ConfigMap, namespace, **options)]

    assert await names(labels="of=a") == ["a1", "a2"]
    assert await names(labels={"of": "a"}, fields={"metadata.name": "a2"}) == ["a2"]
    assert await names(labels="of", fields="metadata.name!=a1") == ["a2", "b1"]
    everywhere = await api.list(core.ConfigMap, labels="of=b", fields={"metadata.namespace": namespace})
    assert [each.name for each in everywhere] == ["b1"]
    with pytest.raises(BadRequest, match="list ConfigMap: "):
        await names(labels="of in (")


async def test_lists_come_in_pages(api: Client, maps: list[core.ConfigMap]) -> None:
    namespace = maps[0].namespace
    first = await api.list(core.ConfigMap, namespace, labels="of", limit=2)
    assert ([each.name for each in first], first.remaining) == (["a1", "a2"], None)
    rest = await api.list(core.ConfigMap, namespace, labels="of", limit=2, continue_token=first.continue_token)
    assert ([each.name for each in rest], rest.continue_token) == (["b1"], "")
    assert [each.name async for each in api.iterate(core.ConfigMap, namespace, labels="of", page_size=1)] == [
        "a1",
        "a2",
        "b1",
    ]
    untyped = [each["metadata"]["name"] async for each in api.iterate(CONFIG_MAP, namespace, labels="of", page_size=2)]
    assert untyped == ["a1", "a2", "b1"]


async def test_a_list_of_an_earlier_moment(api: Client, maps: list[core.ConfigMap]) -> None:
    namespace, then = maps[0].namespace, maps[1].metadata.resource_version
    listed = await api.list(core.ConfigMap, namespace, labels="of", resource_version=then, version_match="Exact")
    assert [each.name for each in listed] == ["a1", "a2"]


async def test_raw_lists_leave_objects_as_json(api: Client, maps: list[core.ConfigMap]) -> None:
    listed = await api.list_raw(core.ConfigMap, maps[0].namespace, labels="of=a", limit=1)
    assert (listed.kind, len(listed.items)) == ("ConfigMapList", 1)
    assert decode(listed.items[0], core.ConfigMap).name == "a1"
    assert listed.metadata.continue_
    metadata = await api.list_raw(metadata_of(core.ConfigMap), maps[0].namespace, labels="of=a")
    assert metadata.kind == "PartialObjectMetadataList"
    assert "data" not in decode_any(metadata.items[0])


async def test_watch_in_all_three_shapes(api: Client, namespace: str) -> None:
    async with (
        api.watch(core.ConfigMap, namespace, labels="of") as typed,
        api.watch(CONFIG_MAP, namespace, labels="of") as untyped,
        api.watch(metadata_of(core.ConfigMap), namespace, labels="of") as metadata,
        asyncio.timeout(60),
    ):
        created = await api.create(config_map(namespace, "a1", key="1"))
        await api.delete(created)
        for kind in ("ADDED", "DELETED"):
            event = await anext(typed)
            assert (event.type, event.object.data) == (kind, {"key": "1"})
            plain = await anext(untyped)
            assert (plain.type, plain.object["data"]) == (kind, {"key": "1"})
            bare = await anext(metadata)
            assert (bare.type, bare.object.name, bare.object.gvk) == (kind, "a1", CONFIG_MAP)
        assert typed.resource_version == event.object.metadata.resource_version


async def test_a_watch_ends_when_its_time_is_over(api: Client, maps: list[core.ConfigMap]) -> None:
    namespace = maps[0].namespace
    listed = await api.list(core.ConfigMap, namespace)
    changed = await api.apply(config_map(namespace, "a1", key="2"))
    events = [
        (event.type, event.object.data)
        async for event in api.watch(
            core.ConfigMap, namespace, labels="of", resource_version=listed.resource_version, timeout=3
        )
    ]
    assert events == [("MODIFIED", changed.data)]


async def test_bookmarks_tell_how_far_we_are(api: Client, maps: list[core.ConfigMap]) -> None:
    """The initial events end with a bookmark, which no type needs to fit."""
    watch = api.watch(
        core.ConfigMap,
        maps[0].namespace,
        labels="of",
        bookmarks=True,
        send_initial_events=True,
        version_match="NotOlderThan",
    )
    async with watch as events, asyncio.timeout(60):
        names = [(await anext(events)).object.name for _ in maps]
        bookmark = await anext(events)
    assert sorted(names) == ["a1", "a2", "b1"]
    assert bookmark.type == "BOOKMARK"
    assert isinstance(bookmark.object, PartialObjectMetadata)
    assert bookmark.object.metadata.annotations == {"k8s.io/initial-events-end": "true"}
    assert events.resource_version == bookmark.object.metadata.resource_version


async def test_raw_watches_leave_objects_as_json(api: Client, maps: list[core.ConfigMap]) -> None:
    async with api.watch_raw(core.ConfigMap, maps[0].namespace, labels="of=b") as events, asyncio.timeout(60):
        event = await anext(events)
    assert event.type == "ADDED"
    assert decode(event.object, core.ConfigMap) == maps[2]


async def test_kinds_that_are_not_served(api: Client) -> None:
    @resource(group=UNKNOWN.group, version=UNKNOWN.version)
    class Ghost(Resource):
        """Nobody has installed it."""

    message = (
        f"{api.config.server} does not serve Ghost (nowhere.kapstan.test/v1); "
        "is its CustomResourceDefinition installed, and is this version served?"
    )
    for reading in (
        api.get(Ghost, "x", "default"),
        api.find(Ghost, "x", "default"),
        api.list(Ghost),
        api.create(Ghost(metadata=ObjectMeta(name="x", namespace="default"))),
        api.apply(Ghost(metadata=ObjectMeta(name="x", namespace="default"))),
        api.delete(Ghost, "x", "default"),
        anext(api.watch(Ghost)),
        api.discovery.mapping(UNKNOWN),
    ):
        with pytest.raises(NoKindMatch) as caught:
            await reading
        assert str(caught.value) == message
        assert caught.value.gvk == UNKNOWN


async def test_kinds_without_a_class_are_looked_up(api: Client, namespace: str, widgets: type[Widget]) -> None:
    mapping = await api.discovery.mapping(WIDGET)
    assert (mapping.plural, mapping.namespaced) == ("widgets", True)
    served = await api.discovery.find(WIDGET)
    assert (served.short_names, sorted(served.subresources)) == (("wi",), ["scale", "status"])
    crd = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert (await api.get(crd, f"widgets.{WIDGET.group}"))["kind"] == "CustomResourceDefinition"


async def test_a_kind_is_found_once_its_crd_is_installed(api: Client, widgets: type[Widget]) -> None:
    everything = {served.gvk: served for served in await api.discovery.resources()}
    assert everything[WIDGET].plural == "widgets"
    assert not everything[GroupVersionKind("", "v1", "Namespace")].namespaced
    assert await api.discovery.preferred(GroupKind("apps", "Deployment")) == GroupVersionKind(
        "apps", "v1", "Deployment"
    )
    with pytest.raises(NoKindMatch):
        await api.discovery.preferred(UNKNOWN.group_kind)


async def test_objects_that_do_not_fit_their_type_are_named(api: Client, maps: list[core.ConfigMap]) -> None:
    with pytest.raises(UnexpectedAnswer, match=r"get ConfigMap .*/a1: what the server sent does not fit the type: "):
        await api.get(Misread, "a1", maps[0].namespace)


async def test_forbidden_says_what_and_who(api: Client, namespace: str) -> None:
    async with Client(api.config.replace(impersonate=Impersonation(user="jane"))) as jane:
        with pytest.raises(
            Forbidden, match=f'list ConfigMap: .*"jane" cannot list resource "configmaps".*"{namespace}"'
        ):
            await jane.list(core.ConfigMap, namespace)


async def test_a_client_can_be_bound_to_a_namespace(api: Client, maps: list[core.ConfigMap]) -> None:
    bound = api.with_options(namespace=maps[0].namespace)
    assert (await bound.get(core.ConfigMap, "a1")).name == "a1"
    assert [each.name for each in await bound.list(core.ConfigMap, labels="of")] == ["a1", "a2", "b1"]
    assert (await bound.get(core.Namespace, "default")).name == "default"
    with pytest.raises(BadRequest, match=r'this client is bound to namespace ".*", not "default"'):
        await bound.list(core.ConfigMap, "default")


async def test_any_request_can_be_made(api: Client) -> None:
    assert decode_any(await api.request("GET", "/version"))["major"] == "1"
    listed = decode_any(await api.request("GET", "/api/v1/namespaces", parameters={"limit": 1}))
    assert len(listed["items"]) == 1


async def test_the_client_is_a_reader(api: Client) -> None:
    reader: Reader = api
    assert (await reader.get(core.Namespace, "default")).name == "default"


async def test_the_servers_warnings_are_logged_once(
    api: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    odd = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "odd", "namespace": namespace},
        "nonsense": 1,
    }
    with caplog.at_level(logging.WARNING, "kapstan.client.warnings"):
        await api.create(odd, dry_run=True)
        await api.create(odd, dry_run=True)
    assert caplog.messages == ['unknown field "nonsense"']
