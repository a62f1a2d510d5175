"""Handlers: from a change to the keys to reconcile."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.change import Change
from kapstan.runtime.handler import enqueue_object, enqueue_owner, map_to
from kapstan.runtime.snapshot import Snapshot

KIND = GroupVersionKind("", "v1", "ConfigMap")
SET = GroupVersionKind("apps", "v1", "ReplicaSet")


@resource(group="test.kapstan.dev", version="v1", scope="Cluster")
class Zone(Resource):
    pass


def state(*owners: dict[str, Any], **metadata: Any) -> Snapshot:
    obj = {"metadata": {"name": "a", "namespace": "ns", "ownerReferences": list(owners), **metadata}}
    return Snapshot.of(json.dumps(obj).encode())


def owner(name: str, kind: str = "ReplicaSet", group: str = "apps/v1", controller: bool = True) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": controller}


def test_the_object_itself() -> None:
    assert list(enqueue_object(Change(KIND, None, state()))) == [ObjectKey("ns", "a")]


def test_the_controller_is_found_in_whichever_version() -> None:
    found = enqueue_owner(SET)
    assert list(found(Change(KIND, None, state(owner("r", group="apps/v1beta2"))))) == [ObjectKey("ns", "r")]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(owner("r", kind="StatefulSet"), id="other_kind"),
        pytest.param(owner("r", group="example.com/v1"), id="other_group"),
        pytest.param(owner("r", controller=False), id="not_its_controller"),
    ],
)
def test_other_owners_are_not_woken(other: dict[str, Any]) -> None:
    assert list(enqueue_owner(SET)(Change(KIND, None, state(other)))) == []


def test_every_owner_can_be_woken() -> None:
    change = Change(KIND, None, state(owner("r"), owner("s", controller=False)))
    assert list(enqueue_owner(SET, every_owner=True)(change)) == [ObjectKey("ns", "r"), ObjectKey("ns", "s")]


def test_an_owner_that_was_dropped_notices() -> None:
    change = Change(KIND, state(owner("before")), state(owner("after")))
    assert list(enqueue_owner(SET)(change)) == [ObjectKey("ns", "before"), ObjectKey("ns", "after")]


def test_an_owner_without_namespace() -> None:
    change = Change(KIND, None, state(owner("z", kind="Zone", group="test.kapstan.dev/v1")))
    assert list(enqueue_owner(Zone)(change)) == [ObjectKey("", "z")]


def test_a_map_function_sees_both_states_and_names_each_key_once() -> None:
    def users(obj: dict[str, Any]) -> Iterable[ObjectKey]:
        return [ObjectKey("ns", obj["metadata"]["labels"]["user"]), ObjectKey("ns", "always")]

    handler = map_to(users)
    keys = handler(Change(KIND, state(labels={"user": "u"}), state(labels={"user": "v"})))
    assert not hasattr(keys, "__await__")
    assert list(keys) == [ObjectKey("ns", "u"), ObjectKey("ns", "always"), ObjectKey("ns", "v")]


async def test_an_async_map_function_may_name_objects() -> None:
    async def users(obj: dict[str, Any]) -> Iterable[Resource]:
        return [Resource(metadata=ObjectMeta(name="x", namespace="ns"))]

    keys: Any = map_to(users)(Change(KIND, None, state()))
    assert list(await keys) == [ObjectKey("ns", "x")]


def test_anything_else_is_refused() -> None:
    handler: Any = map_to(lambda obj: ["ns/a"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not by 'ns/a'"):
        handler(Change(KIND, None, state()))
