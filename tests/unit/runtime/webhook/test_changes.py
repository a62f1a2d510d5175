"""Changes of typed objects, carried over to documents that know more."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery.patch import apply_json_patch
from kapstan.runtime.webhook.changes import json_patch, with_changes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), JSON, max_size=4)


@given(old=OBJECTS, new=OBJECTS)
def test_the_patch_leads_from_one_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert apply_json_patch(copy.deepcopy(old), json_patch(old, new)) == new


@given(old=OBJECTS)
def test_nothing_changed_is_an_empty_patch(old: dict[str, Any]) -> None:
    assert json_patch(old, copy.deepcopy(old)) == []


@given(document=OBJECTS, new=OBJECTS)
def test_a_document_that_was_known_in_full_becomes_the_new_state(document: dict[str, Any], new: dict[str, Any]) -> None:
    assert with_changes(document, document, new) == new


@given(document=OBJECTS, state=OBJECTS)
def test_without_a_change_the_document_stays(document: dict[str, Any], state: dict[str, Any]) -> None:
    assert with_changes(document, state, copy.deepcopy(state)) == document


@pytest.mark.parametrize(
    ("document", "before", "after", "expected"),
    [
        pytest.param({"a": 1, "x": 2}, {"a": 1}, {"a": 3}, {"a": 3, "x": 2}, id="unknown_field_stays"),
        pytest.param({"x": 2}, {}, {"a": {"b": 1}}, {"x": 2, "a": {"b": 1}}, id="new_field"),
        pytest.param({"a": 1, "x": 2}, {"a": 1}, {}, {"x": 2}, id="removed_field"),
        pytest.param({}, {"spec": {}}, {"spec": {"a": 1}}, {"spec": {"a": 1}}, id="parent_that_only_the_type_has"),
        pytest.param(
            {"l": [{"n": "a", "x": 1}, {"n": "b", "x": 2}]},
            {"l": [{"n": "a"}, {"n": "b"}]},
            {"l": [{"n": "a"}, {"n": "b", "p": 80}, {"n": "c"}]},
            {"l": [{"n": "a", "x": 1}, {"n": "b", "x": 2, "p": 80}, {"n": "c"}]},
            id="items_keep_what_is_unknown",
        ),
        pytest.param({"l": [1, 2, 3]}, {"l": [1, 2, 3]}, {"l": [1]}, {"l": [1]}, id="shorter_list"),
        pytest.param({"l": None}, {}, {"l": [1]}, {"l": [1]}, id="null_in_the_document"),
    ],
)
def test_only_what_changed_changes(document: Any, before: Any, after: Any, expected: Any) -> None:
    assert with_changes(document, before, after) == expected


def test_truth_and_numbers_are_told_apart() -> None:
    assert json_patch({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]
