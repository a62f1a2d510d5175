"""The store and its indexes, against plain lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kapstan.machinery import fields, labels
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.runtime.lister import Lister
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.store import Store

POD = GroupVersionKind("", "v1", "Pod")


def snapshot(name: str, namespace: str = "ns", *, owners: tuple[str, ...] = (), node: str = "", **of: str) -> Snapshot:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": of}
    metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "K", "name": "k", "uid": uid} for uid in owners]
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node} if node else {}}
    return Snapshot.of(json.dumps(obj, separators=(",", ":")).encode())


def names(found: list[Snapshot]) -> list[str]:
    return [one.name for one in found]


@pytest.fixture
def store() -> Store:
    store = Store()
    for one in (
        snapshot("b", app="web", owners=("u1",), node="n1"),
        snapshot("a", app="db", owners=("u1", "u2"), node="n2"),
        snapshot("a", "other", app="web", tier="front"),
    ):
        store.put(one)
    return store


def test_lists_are_ordered_by_namespace_and_name(store: Store) -> None:
    assert [str(one.key) for one in store.select()] == ["ns/a", "ns/b", "other/a"]


def test_a_namespace_narrows(store: Store) -> None:
    assert names(store.select("ns")) == ["a", "b"]
    assert store.select("nowhere") == []


def test_labels_select(store: Store) -> None:
    assert [str(one.key) for one in store.select("", labels.parse("app=web"))] == ["ns/b", "other/a"]
    assert names(store.select("ns", labels.parse("app=web"))) == ["b"]
    assert names(store.select("", labels.parse("app in (web,db),!tier"))) == ["a", "b"]
    assert store.select("", labels.NOTHING) == []


def test_fields_select(store: Store) -> None:
    assert names(store.select("", field_selector=fields.parse("spec.nodeName=n1"))) == ["b"]
    assert [str(one.key) for one in store.select("", field_selector=fields.parse("spec.nodeName!=n1"))] == [
        "ns/a",
        "other/a",
    ]
    assert [str(one.key) for one in store.select("", field_selector=fields.parse("metadata.name=a"))] == [
        "ns/a",
        "other/a",
    ]
    assert [str(one.key) for one in store.select("", field_selector=fields.parse("spec.nodeName="))] == ["other/a"]


def test_owners_find_what_they_own(store: Store) -> None:
    assert names(store.owned_by("u1")) == ["a", "b"]
    assert names(store.owned_by("u2")) == ["a"]
    assert store.owned_by("u3") == []


def test_an_index_follows_changes_made_after_it(store: Store) -> None:
    assert names(store.owned_by("u1")) == ["a", "b"]
    store.put(snapshot("b", owners=("u2",)))
    store.delete(ObjectKey("ns", "a"))
    assert store.owned_by("u1") == []
    assert names(store.owned_by("u2")) == ["b"]


def test_custom_indexes(store: Store) -> None:
    store.add_index("initial", lambda one: [one.name[0]])
    store.put(snapshot("apple"))
    assert [str(one.key) for one in store.by_index("initial", "a")] == ["ns/a", "ns/apple", "other/a"]
    store.delete(ObjectKey("ns", "apple"))
    assert [str(one.key) for one in store.by_index("initial", "a")] == ["ns/a", "other/a"]


def test_an_object_that_an_index_cannot_read_harms_no_other(store: Store) -> None:
    """A kind's cache must not end because of one object that does not fit its type."""
    store.add_index("node", lambda one: [json.loads(one.data)["spec"]["nodeName"]])
    store.put(snapshot("c"))
    store.put(snapshot("d", node="n1"))
    assert names(store.by_index("node", "n1")) == ["b", "d"]
    assert names(store.select("ns")) == ["a", "b", "c", "d"]
    store.put(snapshot("c", node="n1"))
    store.put(snapshot("d"))
    assert names(store.by_index("node", "n1")) == ["b", "c"]


def test_an_unknown_index_is_named_with_the_known_ones(store: Store) -> None:
    store.add_index("initial", lambda one: [one.name[0]])
    with pytest.raises(LookupError, match=r"no index 'final'.*initial"):
        store.by_index("final", "a")
    with pytest.raises(ValueError, match="already is an index 'initial'"):
        store.add_index("initial", lambda one: [])


def test_a_lister_decodes(store: Store) -> None:
    lister: Lister[dict[str, Any]] = Lister(store, POD, "ns")
    found = lister.get("b")
    assert found is not None and found["spec"] == {"nodeName": "n1"}
    assert lister.get("a", "other") is not None
    assert lister.get("missing") is None
    assert [one["metadata"]["name"] for one in lister.list(labels={"app": "web"})] == ["b"]
    assert [one["metadata"]["name"] for one in lister.list(fields={"spec.nodeName": "n2"})] == ["a"]
    owner = Resource(api_version="v1", kind="K", metadata=ObjectMeta(uid="u2"))
    assert [one["metadata"]["name"] for one in lister.owned_by(owner)] == ["a"]


KEYS = st.builds(ObjectKey, st.sampled_from(["x", "y"]), st.sampled_from("abcd"))
VALUES = st.sampled_from(["p", "q", "r"])


class StoreMachine(RuleBasedStateMachine):
    """Whatever is put and deleted, each index answers what a search through everything answers."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.model: dict[ObjectKey, tuple[str, str, str]] = {}
        self.store.add_index("custom", lambda one: [one.labels["app"], "all"])

    @rule(key=KEYS, owner=VALUES, app=VALUES, node=VALUES)
    def put(self, key: ObjectKey, owner: str, app: str, node: str) -> None:
        old = self.store.put(snapshot(key.name, key.namespace, owners=(owner,), app=app, node=node))
        assert (old is not None) == (key in self.model)
        self.model[key] = (owner, app, node)

    @rule(key=KEYS)
    def delete(self, key: ObjectKey) -> None:
        old = self.store.delete(key)
        assert (old is not None) == (self.model.pop(key, None) is not None)

    @rule(value=VALUES)
    def query(self, value: str) -> None:
        def expected(position: int) -> list[ObjectKey]:
            return sorted(key for key, values in self.model.items() if values[position] == value)

        assert [one.key for one in self.store.owned_by(value)] == expected(0)
        assert [one.key for one in self.store.by_index("custom", value)] == expected(1)
        assert [one.key for one in self.store.select("", labels.parse(f"app={value}"))] == expected(1)
        by_node = self.store.select("", field_selector=fields.parse(f"spec.nodeName={value}"))
        assert [one.key for one in by_node] == expected(2)
        in_x = self.store.select("x", labels.parse(f"app={value}"))
        assert [one.key for one in in_x] == [key for key in expected(1) if key.namespace == "x"]

    @invariant()
    def the_store_holds_what_was_put(self) -> None:
        assert [one.key for one in self.store.select()] == sorted(self.model)
        assert [one.key for one in self.store.by_index("custom", "all")] == sorted(self.model)


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStoreInvariants = StoreMachine.TestCase
