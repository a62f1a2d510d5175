"""Informers on both API servers, through everything that happens to connections."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kapstan.client.client import Client
from kapstan.client.interface import Patch, metadata_of
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.k8s.core_v1 import ConfigMap, Namespace
from kapstan.machinery.codec import convert
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime import reflector
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.scope import Scope

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


def config_map(name: str, namespace: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or {}), data=data)


def within(client: Client, namespace: str, **more: Any) -> InformerFactory:
    return InformerFactory(client, scope=Scope(namespaces=(namespace,), **more))


def names(factory: InformerFactory) -> list[str]:
    """The config maps of a test; a controller of the cluster may have put one of its own there."""
    return [one.name for one in factory[ConfigMap].lister().list() if one.name != "kube-root-ca.crt"]


class Ear:
    """Hears what happens to config maps, as (what, which)."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def __call__(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        state = new or old
        assert state is not None
        if state.name != "kube-root-ca.crt":
            self.heard.append(("-" if new is None else "+" if old is None else "~", state.name))


async def test_what_is_there_and_what_comes_is_known(client: Client, namespace: str, eventually: Eventually) -> None:
    await client.create(config_map("a", namespace))
    factory = within(client, namespace)
    ear = Ear()
    factory[ConfigMap].on_change(ear)
    async with factory.running():
        assert names(factory) == ["a"]
        await client.create(config_map("b", namespace))
        await client.patch(config_map("a", namespace), Patch.merge({"data": {"k": "v"}}))
        await client.delete(ConfigMap, "b", namespace)
        await eventually(lambda: ("-", "b") in ear.heard)
        assert ear.heard == [("+", "a"), ("+", "b"), ("~", "a"), ("-", "b")]
        found = factory[ConfigMap].lister(namespace).get("a")
        assert found is not None and found.data == {"k": "v"}
        assert found.metadata.managed_fields == [], "managedFields are not kept"


async def test_selectors_and_transforms_decide_what_is_cached(
    client: Client, namespace: str, eventually: Eventually
) -> None:
    def without_data(obj: dict[str, Any]) -> dict[str, Any]:
        obj.pop("data", None)
        return obj

    await client.create(config_map("a", namespace, {"app": "x"}, big="v" * 100))
    await client.create(config_map("b", namespace, {"app": "y"}))
    factory = within(client, namespace, labels="app=x", transform=without_data)
    factory.shared(ConfigMap)
    async with factory.running():
        assert names(factory) == ["a"]
        found = factory[ConfigMap].lister(namespace).get("a")
        assert found is not None and found.data == {}
        await client.patch(config_map("b", namespace), Patch.merge({"metadata": {"labels": {"app": "x"}}}))
        await client.patch(config_map("a", namespace), Patch.merge({"metadata": {"labels": {"app": "z"}}}))
        await eventually(lambda: names(factory) == ["b"])


async def test_metadata_alone_can_be_cached(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace, {"app": "x"}, secret="v"))
    factory = within(client, namespace)
    informer = factory[metadata_of(ConfigMap)]
    async with factory.running():
        (found,) = informer.lister(namespace).list(labels="app=x")
        assert (found.name, found.kind) == ("a", "ConfigMap")
        snapshot = informer.shared.store.get(ObjectKey(namespace, "a"))
        assert snapshot is not None and b"secret" not in snapshot.data


async def test_several_namespaces_are_one_cache(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace))
    factory = InformerFactory(client, scope=Scope(namespaces=(namespace, "kube-system")))
    informer = factory[ConfigMap]
    async with factory.running():
        assert {one.namespace for one in informer.lister().list()} == {namespace, "kube-system"}


async def test_kinds_without_namespace_are_cached_whole(client: Client, namespace: str) -> None:
    """Whether a kind is in namespaces is known from its class, or asked."""
    factory = within(client, namespace)
    typed, untyped = factory[Namespace], factory[GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole")]
    async with factory.running():
        assert {namespace, "default", "kube-system"} <= {one.name for one in typed.lister().list()}
        assert untyped.lister().get("cluster-admin") is not None


async def test_informers_come_and_go_while_the_factory_runs(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace))
    factory = within(client, namespace)
    async with factory.running():
        informer = factory[ConfigMap]
        await informer.wait_synced()
        assert names(factory) == ["a"]
        factory.remove(ConfigMap)
        assert factory.find(ConfigMap) is None


async def test_a_server_without_streaming_is_listed_in_pages(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 2)
    for name in "abcde":
        await client.create(config_map(name, namespace))
    factory = within(client, namespace)
    factory.shared(ConfigMap)
    original = reflector.Reflector._stream_initial_state

    async def refused(self: reflector.Reflector) -> None:
        self._streams = False

    monkeypatch.setattr(reflector.Reflector, "_stream_initial_state", refused)
    assert original is not refused
    async with factory.running():
        assert names(factory) == list("abcde")
        await client.create(config_map("f", namespace))
        await eventually(lambda: names(factory) == list("abcdef"))


async def test_a_cut_connection_loses_nothing(
    client: Client, fragile: Client, proxy: Any, namespace: str, eventually: Eventually
) -> None:
    factory = within(fragile, namespace)
    informer = factory.shared(ConfigMap)
    async with factory.running():
        for round in range(3):
            proxy.cut()
            await client.create(config_map(f"a{round}", namespace))
        await eventually(lambda: names(factory) == ["a0", "a1", "a2"])
        assert informer.healthy


async def test_an_unreachable_server_makes_it_unhealthy_and_its_return_heals(
    client: Client,
    fragile: Client,
    proxy: Any,
    namespace: str,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reflector, "OUTAGE", 0.5)
    factory = within(fragile, namespace)
    informer = factory.shared(ConfigMap)
    async with factory.running():
        await proxy.close()
        await eventually(lambda: not informer.healthy)
        assert informer.trouble
        await client.create(config_map("a", namespace))
        await proxy.open()
        await eventually(lambda: informer.healthy)
        await eventually(lambda: names(factory) == ["a"])


async def test_a_server_that_stops_sending_is_noticed(
    client: Client,
    fragile: Client,
    proxy: Any,
    namespace: str,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection stays open and nothing arrives: no error will ever come, only silence."""
    monkeypatch.setattr(reflector, "SILENCE", 2.0)
    factory = within(fragile, namespace)
    factory.shared(ConfigMap)
    async with factory.running():
        proxy.silence()
        await client.create(config_map("a", namespace))
        await eventually(lambda: names(factory) == ["a"])


WIDGET = GroupVersionKind("late.kapstan.dev", "v1", "Widget")


def widgets() -> CustomResourceDefinition:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "metadata": {"name": "widgets.late.kapstan.dev"},
        "spec": {
            "group": WIDGET.group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    return convert(definition, CustomResourceDefinition)


async def test_a_kind_that_appears_later_is_waited_for_without_holding_up_others(
    client: Client, namespace: str, eventually: Eventually
) -> None:
    factory = within(client, namespace)
    late, present = factory[WIDGET], factory[ConfigMap]
    async with factory.running():
        assert present.synced
        assert late.shared.absent and not late.synced
        await client.create(widgets())
        await late.wait_synced()
        widget = {"apiVersion": "late.kapstan.dev/v1", "kind": "Widget"}
        await client.create({**widget, "metadata": {"name": "w", "namespace": namespace}})
        await eventually(lambda: late.lister(namespace).get("w") is not None)
        assert late.lister(namespace).list()[0]["kind"] == "Widget"
        await client.delete(CustomResourceDefinition, "widgets.late.kapstan.dev")
        await eventually(lambda: late.lister(namespace).list() == [])
