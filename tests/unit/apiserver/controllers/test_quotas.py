"""Quotas: what is used is charged at once, given back when objects go, and never more than there is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan.apiserver.storage.interface import Event
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.machinery.errors import Forbidden
from kapstan.machinery.gvk import GroupResource, GroupVersionKind

from .conftest import Object, World

QUOTA = GroupVersionKind("", "v1", "ResourceQuota")


async def quota(world: World, **hard: str) -> None:
    await world.create(
        "ResourceQuota", "q", spec={"hard": {name.replace("__", "/"): text for name, text in hard.items()}}
    )
    await world.settle()


async def status(world: World) -> Object:
    found: Object = (await world.api.get(QUOTA, "q", "default"))["status"]
    return found


async def test_of_two_at_once_only_one_gets_the_last_place(world: World) -> None:
    await quota(world, secrets="1")
    made = await asyncio.gather(*(world.create("Secret", f"s{number}") for number in range(5)), return_exceptions=True)
    refused = [one for one in made if isinstance(one, Forbidden)]
    assert len(refused) == 4
    assert "exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1" in str(refused[0])
    assert (await status(world))["used"] == {"secrets": "1"}


async def test_a_rehearsal_is_judged_and_not_charged(world: World) -> None:
    await quota(world, secrets="1")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    await world.api.create(secret, dry_run=True)
    assert (await status(world))["used"] == {"secrets": "0"}
    await world.api.create(secret)
    with pytest.raises(Forbidden):
        await world.api.create({**secret, "metadata": {"name": "t", "namespace": "default"}}, dry_run=True)


async def test_custom_kinds_are_counted_from_their_definition_on(world: World) -> None:
    name = "count/lamps.example.com"
    await quota(world, **{name: "1"})
    assert (await status(world)).get("used", {}) == {}  # nobody knows yet what a lamp is
    await world.create(
        "CustomResourceDefinition", "lamps.example.com", "apiextensions.k8s.io/v1", "", spec=definition()
    )
    await world.settle()
    assert (await status(world))["used"] == {name: "0"}
    lamp = await world.create("Lamp", "a", "example.com/v1")
    with pytest.raises(Forbidden, match=r"exceeded quota: q, requested: count/lamps\.example\.com=1"):
        await world.create("Lamp", "b", "example.com/v1")
    await world.delete(lamp)
    await world.settle()
    await world.create("Lamp", "b", "example.com/v1")


async def test_of_many_deletions_many_are_counted_together(world: World) -> None:
    """Each count looks at all that is left: one for each deletion would take forever."""
    number, written = 300, 0
    await quota(world, secrets="1000")
    secrets = [await world.create("Secret", f"s{one}") for one in range(number)]
    await world.patch(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}},
        {"spec": {"hard": {"secrets": "999"}}},
    )
    await world.settle()

    def count(event: Event) -> None:
        nonlocal written
        written += 1

    stop = world.cluster.storage.observe(count, GroupResource("", "resourcequotas"))
    for secret in secrets:
        await world.delete(secret)
        await asyncio.sleep(0)
    await world.settle()
    stop()
    assert (await status(world))["used"] == {"secrets": "0"}
    assert 0 < written < number / 4


def definition() -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "group": "example.com",
        "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }


async def test_devices_are_counted_by_class(world: World) -> None:
    await quota(world, **{"gpu.deviceclass.resource.k8s.io/devices": "3", "count/resourceclaims.resource.k8s.io": "9"})

    def claim(*requests: Object) -> Object:
        return {"devices": {"requests": [{"name": f"r{number}", **one} for number, one in enumerate(requests)]}}

    two = {"exactly": {"deviceClassName": "gpu", "count": 2}}
    either = {"firstAvailable": [{"name": "x", "deviceClassName": "gpu"}, {"name": "y", "deviceClassName": "fpga"}]}
    await world.create("ResourceClaim", "fits", "resource.k8s.io/v1", spec=claim(two, either))
    with pytest.raises(Forbidden, match=r"gpu\.deviceclass\.resource\.k8s\.io/devices=1"):
        await world.create("ResourceClaim", "one", "resource.k8s.io/v1", spec=claim(either))
    assert (await status(world))["used"]["gpu.deviceclass.resource.k8s.io/devices"] == "3"


async def test_what_was_charged_for_nothing_is_forgotten(world: World) -> None:
    """An object that was admitted and then not stored; whatever is deleted has everything counted again."""
    await quota(world, configmaps="9", secrets="9")
    before = await status(world)
    await world.config_map("one")
    with pytest.raises(Exception, match="already exists"):
        await world.config_map("one")
    wrong = int((await status(world))["used"]["configmaps"])
    assert wrong == int(before["used"]["configmaps"]) + 2
    await world.delete(await world.config_map("two"))
    await world.settle()
    assert int((await status(world))["used"]["configmaps"]) == wrong - 1


async def test_a_cluster_without_quotas_is_not_listened_to(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Any] = []
    observe = MemoryStorage.observe

    def counting(self: MemoryStorage, observer: Any, kind: Any = None) -> Any:
        stop = observe(self, observer, kind)
        added.append(observer)

        def stopping() -> None:
            added.remove(observer)
            stop()

        return stopping

    monkeypatch.setattr(MemoryStorage, "observe", counting)
    await world.config_map("unnoticed")
    assert added == []
    await quota(world, configmaps="9")
    assert len(added) == 1
    await world.api.delete(QUOTA, "q", "default")
    assert added == []
