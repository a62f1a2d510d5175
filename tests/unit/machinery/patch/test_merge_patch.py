"""Merge patch, and the smallest merge patch between two objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery.errors import BadRequest
from kapstan.machinery.patch import apply_merge_patch, diff, replaces_list

scalars = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0]), st.sampled_from(["", "x"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
        ({"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_merges(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy((document, patch))
    assert apply_merge_patch(document, patch) == expected
    assert (document, patch) == before


def test_unchanged_parts_are_shared() -> None:
    document = {"spec": {"a": [1]}, "status": {}}
    assert apply_merge_patch(document, {"status": {"ready": True}})["spec"] is document["spec"]


@pytest.mark.parametrize("patch", [None, "text", 1])
def test_a_patch_that_is_no_object_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_merge_patch({}, patch)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1, "b": {"c": 1}}, {"a": 1, "b": {"c": 1}}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, {"a": [{"b": True}]}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({}, {"a": None}, {}),
        ({"a": None}, {}, {}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_the_difference_holds_only_what_changed(old: Any, new: Any, expected: Any) -> None:
    assert diff(old, new) == expected


@given(old=objects, new=objects)
def test_the_difference_makes_one_object_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    patch = diff(old, new)
    result = apply_merge_patch(old, patch)
    assert result == new
    assert diff(result, new) == {}


def test_a_resource_version_makes_the_patch_conditional() -> None:
    old = {"metadata": {"name": "it", "labels": {"a": "1"}}}
    new = {"metadata": {"name": "it", "labels": {}}}
    assert diff(old, new, resource_version="7") == {"metadata": {"labels": {"a": None}, "resourceVersion": "7"}}


def test_an_unchanged_object_needs_no_patch_even_with_a_resource_version() -> None:
    assert diff({"a": 1}, {"a": 1}, resource_version="7") == {}


@pytest.mark.parametrize(
    ("old", "patch", "expected"),
    [
        ({}, {"a": 1}, False),
        ({"a": [1]}, {"b": {"c": None}}, False),
        ({}, {"a": {"b": []}}, True),
        ({"a": {"b": [1]}}, {"a": {"b": None}}, True),
        ({"a": [1]}, {"a": "text"}, True),
    ],
)
def test_it_is_known_whether_a_patch_replaces_a_list(old: Any, patch: Any, expected: bool) -> None:
    assert replaces_list(old, patch) is expected
