"""Predicates: which changes pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapstan.machinery.gvk import GroupVersionKind
from kapstan.runtime.change import Change
from kapstan.runtime.predicate import (
    Predicate,
    annotation_changed,
    functions,
    generation_changed,
    label_changed,
    labels_match,
    predicate,
    resource_version_changed,
)
from kapstan.runtime.snapshot import Snapshot

KIND = GroupVersionKind("", "v1", "ConfigMap")


def state(**metadata: Any) -> Snapshot:
    return Snapshot.of(json.dumps({"metadata": {"name": "a", **metadata}}).encode())


def update(before: dict[str, Any], after: dict[str, Any]) -> Change:
    return Change(KIND, state(**before), state(**after))


@pytest.mark.parametrize(
    ("ask", "field", "before", "after"),
    [
        (generation_changed, "generation", 1, 2),
        (resource_version_changed, "resourceVersion", "1", "2"),
        (label_changed, "labels", {"a": "1"}, {"a": "2"}),
        (annotation_changed, "annotations", {}, {"a": "2"}),
    ],
    ids=lambda value: value.name if isinstance(value, Predicate) else "",
)
def test_only_a_change_of_that_field_passes(ask: Predicate, field: str, before: Any, after: Any) -> None:
    assert ask(update({field: before}, {field: after}))
    assert not ask(update({field: before}, {field: before, "finalizers": ["x"]}))
    assert ask(Change(KIND, None, state())), "what comes passes"
    assert ask(Change(KIND, state(), None)), "what goes passes"


def test_labels_match_looks_at_the_latest_state() -> None:
    ask = labels_match("tier in (a,b)")
    assert ask(update({}, {"labels": {"tier": "a"}}))
    assert not ask(update({"labels": {"tier": "a"}}, {}))
    assert ask(Change(KIND, state(labels={"tier": "b"}), None))
    assert labels_match({"tier": "a"})(Change(KIND, None, state(labels={"tier": "a"})))


def test_predicates_combine() -> None:
    both = update({"generation": 1, "labels": {"a": "1"}}, {"generation": 2, "labels": {"a": "2"}})
    one = update({"generation": 1}, {"generation": 2})
    assert (generation_changed & label_changed)(both) and not (generation_changed & label_changed)(one)
    assert (label_changed | generation_changed)(one)
    assert not (~generation_changed)(one)
    assert repr(generation_changed & ~label_changed) == "(generation_changed & ~label_changed)"


def test_a_plain_function_combines_with_a_predicate() -> None:
    @predicate
    def named_a(change: Change) -> bool:
        return change.key.name == "a"

    assert (named_a & (lambda change: change.created))(Change(KIND, None, state()))


def test_functions_of_the_objects() -> None:
    ask = functions(
        create=lambda obj: obj["metadata"]["name"] == "b", update=lambda old, new: old != new, delete=lambda _: False
    )
    assert not ask(Change(KIND, None, state()))
    assert ask(update({"generation": 1}, {"generation": 2}))
    assert not ask(update({}, {}))
    assert not ask(Change(KIND, state(), None))
    assert functions()(update({}, {}))


def test_a_resync_and_the_initial_list_are_no_news() -> None:
    assert update({"resourceVersion": "1"}, {"resourceVersion": "1"}).unchanged
    assert not update({"resourceVersion": "1"}, {"resourceVersion": "2"}).unchanged
    assert Change(KIND, None, state(), initial=True).unchanged
    assert not Change(KIND, None, state()).unchanged
