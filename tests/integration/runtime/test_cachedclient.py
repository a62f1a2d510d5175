"""The cached client on both API servers: reads its own writes, sends nothing twice, refuses what it cannot know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapstan.client.client import Client
from kapstan.client.config import Config
from kapstan.client.interface import Kind, Patch, metadata_of
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.codec import convert
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.owners import owner_reference
from kapstan.runtime.cache import Cache, NotCached
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.scope import Scope

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


def config_map(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


async def names(client: Client, namespace: str) -> list[str]:
    """The config maps of a test; a controller of the cluster may have put one of its own there."""
    return [one.name for one in await client.list(ConfigMap, namespace) if one.name != "kube-root-ca.crt"]


class Counting:
    """Counts the writes that go over the wire."""

    def __init__(self) -> None:
        self.writes: list[str] = []

    def __call__(self, method: str, host: str, code: str, seconds: float) -> None:
        if method != "GET":
            self.writes.append(method)


@asynccontextmanager
async def cached(
    config: Config, namespace: str, *kinds: Kind[Any], **options: Any
) -> AsyncIterator[tuple[CachedClient, Counting]]:
    counting = Counting()
    async with Client(config, observer=counting, field_manager="tester") as live:
        factory = InformerFactory(live, scope=Scope(namespaces=(namespace,)))
        for kind in kinds:
            factory.shared(kind)
        async with factory.running():
            yield CachedClient(live, Cache(factory), **options), counting


async def test_own_writes_are_read_at_once(config: Config, namespace: str) -> None:
    """A hundred times in a row without waiting for the watch."""
    async with cached(config, namespace, ConfigMap) as (client, _):
        for number in range(100):
            made = await client.create(config_map(f"a{number}", namespace))
            assert (await client.get(ConfigMap, made.name, namespace)).uid == made.uid
            await client.patch(made, Patch.merge({"data": {"number": str(number)}}))
            assert (await client.get(ConfigMap, made.name, namespace)).data == {"number": str(number)}
            await client.delete(made)
            assert await client.find(ConfigMap, made.name, namespace) is None
            assert await names(client, namespace) == []


async def test_lists_and_indexes_have_own_writes_too(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        owner = await client.create(config_map("owner", namespace))
        child = config_map("child", namespace)
        child.metadata.labels["app"] = "x"
        child.metadata.owner_references = [owner_reference(owner, controller=True)]
        await client.create(child)
        assert [one.name for one in await client.list(ConfigMap, namespace, labels="app=x")] == ["child"]
        informer = client.cache.factory[ConfigMap]
        assert [one.name for one in informer.lister().owned_by(owner)] == ["child"]


async def test_an_object_with_finalizers_is_read_until_it_is_gone(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        made = config_map("a", namespace)
        made.metadata.finalizers = ["test.kapstan.dev/hold"]
        made = await client.create(made)
        await client.delete(made)
        found = await client.get(ConfigMap, "a", namespace)
        assert found.deleting
        await client.patch(found, Patch.merge({"metadata": {"finalizers": None}}))
        assert await client.find(ConfigMap, "a", namespace) is None


async def test_applying_the_same_again_sends_nothing(config: Config, namespace: str, eventually: Eventually) -> None:
    async with cached(config, namespace, ConfigMap) as (client, wire):
        for _ in range(5):
            applied = await client.apply(config_map("a", namespace, k="v"))
            assert applied.data == {"k": "v"} and applied.uid
        assert wire.writes == ["PATCH"]
        await client.apply(config_map("a", namespace, k="w"))
        assert len(wire.writes) == 2
        await client.live.patch(config_map("a", namespace), Patch.merge({"data": {"k": "somebody else"}}))
        lister = client.cache.factory[ConfigMap].lister(namespace)
        await eventually(lambda: lister.get("a").data == {"k": "somebody else"})  # type: ignore[union-attr]
        again = await client.apply(config_map("a", namespace, k="w"))
        assert again.data == {"k": "w"} and len(wire.writes) == 4
        await client.apply(config_map("a", namespace, k="w"), field_manager="another")
        assert len(wire.writes) == 5, "another manager has not applied it yet"


async def test_a_changed_status_is_no_reason_to_apply_again(
    config: Config, namespace: str, eventually: Eventually
) -> None:
    deployment = convert(
        {
            "metadata": {"name": "d", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        },
        Deployment,
    )
    async with cached(config, namespace, Deployment) as (client, wire):
        await client.apply(deployment)
        status = {"status": {"replicas": 1, "observedGeneration": 1}}
        await client.live.patch(deployment, Patch.merge(status), subresource="status")
        lister = client.cache.factory[Deployment].lister(namespace)
        await eventually(lambda: lister.get("d").status.replicas == 1)  # type: ignore[union-attr]
        sent = len(wire.writes)
        applied = await client.apply(deployment)
        assert len(wire.writes) == sent
        assert applied.status.replicas == 1


async def test_what_was_deleted_and_applied_again_is_made_again(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, wire):
        first = await client.apply(config_map("a", namespace, k="v"))
        await client.delete(first)
        second = await client.apply(config_map("a", namespace, k="v"))
        assert first.uid != second.uid
        assert wire.writes == ["PATCH", "DELETE", "PATCH"]


async def test_a_kind_that_nobody_declared_is_refused(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        with pytest.raises(NotCached, match=r"Secret is not cached: declare it .*self\.live"):
            await client.get(Secret, "a", namespace)
        with pytest.raises(NotCached, match=f"cached in {namespace} only, not in namespace default"):
            await client.get(ConfigMap, "a", "default")
        with pytest.raises(NotFound, match=f"get ConfigMap {namespace}/none: not found in the cache"):
            await client.get(ConfigMap, "none", namespace)


async def test_an_uncached_kind_is_read_live(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap, uncached=[Secret]) as (client, _):
        secret = Secret(metadata=ObjectMeta(name="s", namespace=namespace))
        made = await client.create(secret)
        assert (await client.get(Secret, "s", namespace)).uid == made.uid
        assert [one.name for one in await client.list(Secret, namespace)] == ["s"]


async def test_one_cache_serves_types_dictionaries_and_metadata(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        await client.create(config_map("a", namespace, k="v"))
        as_dict = await client.get(GroupVersionKind("", "v1", "ConfigMap"), "a", namespace)
        assert as_dict["data"] == {"k": "v"} and as_dict["kind"] == "ConfigMap"
        assert (await client.get(metadata_of(ConfigMap), "a", namespace)).kind == "ConfigMap"


async def test_a_dry_run_changes_nothing_that_is_read(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        await client.create(config_map("a", namespace), dry_run=True)
        assert await client.find(ConfigMap, "a", namespace) is None
        made = await client.create(config_map("b", namespace))
        await client.delete(made, dry_run=True)
        await client.with_options(dry_run=True).delete(made)
        await client.with_options(dry_run=True).apply(config_map("b", namespace, k="v"))
        assert (await client.get(ConfigMap, "b", namespace)).data == {}


async def test_deleting_all_of_a_kind_is_read_at_once(config: Config, namespace: str) -> None:
    async with cached(config, namespace, ConfigMap) as (client, _):
        for name in "ab":
            await client.create(config_map(name, namespace))
        await client.delete_all_of(ConfigMap, namespace)
        assert await names(client, namespace) == []
