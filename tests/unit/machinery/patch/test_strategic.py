"""Strategic merge patch: which lists merge, by which key, in which order; and what the directives do."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapstan.machinery.errors import APIError, BadRequest, Invalid
from kapstan.machinery.patch import apply_strategic_merge_patch
from kapstan.machinery.schema import Definitions

ITEM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string"},
        "args": {"type": "array", "items": {"type": "string"}},
    },
}
THING = {
    "type": "object",
    "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "nested": {"type": "object", "additionalProperties": {"type": "object"}},
        "items": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/io.example.v1.Item"},
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
        },
        "keyless": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/io.example.v1.Item"},
            "x-kubernetes-patch-strategy": "merge",
        },
        "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        "tolerations": {"type": "array", "items": {"$ref": "#/components/schemas/io.example.v1.Item"}},
        "strategy": {
            "allOf": [{"$ref": "#/components/schemas/io.example.v1.Item"}],
            "x-kubernetes-patch-strategy": "retainKeys",
        },
        "whole": {
            "allOf": [{"$ref": "#/components/schemas/io.example.v1.Item"}],
            "x-kubernetes-patch-strategy": "replace",
        },
    },
}
SCHEMA = Definitions({"io.example.v1.Thing": THING, "io.example.v1.Item": ITEM}).schema("io.example.v1.Thing")


def patched(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The patched document; neither it nor the patch may have been changed."""
    before = copy.deepcopy((document, patch))
    try:
        return apply_strategic_merge_patch(document, patch, SCHEMA)
    finally:
        assert (document, patch) == before


def items(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def names(document: dict[str, Any]) -> list[str]:
    return [item["name"] for item in document["items"]]


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"labels": {"a": "1"}}, {"labels": {"b": "2", "a": None}}, {"labels": {"b": "2"}}),
        ({}, {"labels": {"b": "2", "a": None}}, {"labels": {"b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": None}, {}),
        ({"tolerations": items("a")}, {"tolerations": items("b")}, {"tolerations": items("b")}),
        (
            {"items": [{"name": "a", "image": "1", "args": ["x"]}]},
            {"items": [{"name": "a", "image": "2", "args": ["y"]}]},
            {"items": [{"name": "a", "image": "2", "args": ["y"]}]},
        ),
        ({"items": items("a", "b")}, {"items": [{"$patch": "delete", "name": "a"}]}, {"items": items("b")}),
        ({"items": items("a", "b")}, {"items": [{"$patch": "replace"}, *items("c")]}, {"items": items("c")}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "replace", "b": "2"}}, {"labels": {"b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "delete"}}, {"labels": {}}),
        ({}, {"labels": {"$patch": "delete"}}, {}),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]}, {"finalizers": ["a", "b", "c"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {}),
        (
            {"strategy": {"name": "a", "image": "x"}},
            {"strategy": {"$retainKeys": ["name"], "name": "b"}},
            {"strategy": {"name": "b"}},
        ),
        ({"whole": {"name": "a", "image": "x"}}, {"whole": {"name": "b"}}, {"whole": {"name": "b"}}),
    ],
)
def test_merges(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert patched(document, patch) == expected


@pytest.mark.parametrize(
    ("before", "change", "order", "after"),
    [
        ("ab", "c", None, "cab"),
        ("abc", "ca", None, "bca"),
        ("abc", "", "cba", "cba"),
        ("ab", "c", "ca", "cab"),
        ("sab", "", "ba", "sba"),
        ("asb", "", "ba", "sba"),
        ("", "ba", "ba", "ba"),
    ],
)
def test_the_patch_s_order_wins_and_others_keep_their_place(
    before: str, change: str, order: str | None, after: str
) -> None:
    patch: dict[str, Any] = {"items": items(*change)} if change else {}
    if order is not None:
        patch["$setElementOrder/items"] = items(*order)
    assert names(patched({"items": items(*before)} if before else {}, patch)) == list(after)


def test_unchanged_parts_are_shared() -> None:
    document = {"items": items("a", "b"), "labels": {}}
    assert patched(document, {"labels": {"x": "y"}})["items"] is document["items"]


@pytest.mark.parametrize(
    ("document", "patch", "error", "message"),
    [
        ({"labels": {}}, {"labels": {"$patch": "x"}}, APIError, "unknown patch type: x in map: map[$patch:x]"),
        (
            {"items": items("a")},
            {"items": [{"image": "x"}]},
            APIError,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"items": items("a")},
            {"items": ["a"]},
            APIError,
            "list element types are not identical: [[map[name:a]] [a]]",
        ),
        (
            {"items": items("a")},
            {"items": [{"$patch": "merge"}]},
            APIError,
            "merging lists cannot yet be specified in the patch",
        ),
        ({"keyless": items("a")}, {"keyless": items("b")}, APIError, "cannot merge lists without merge key for struct"),
        ({"finalizers": [["a"]]}, {"finalizers": [["b"]]}, Invalid, "lists of lists are not supported"),
        ({"matrix": [["a"]]}, {"matrix": [["b"]]}, APIError, "unexpected slice of slice"),
        (
            {"unknown": {}},
            {"unknown": {"a": 1}},
            APIError,
            'unable to find api field in struct Thing for the json field "unknown"',
        ),
        (
            {"nested": {"a": {"b": 1}}},
            {"nested": {"a": {"b": 2}}},
            APIError,
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            {"strategy": {"name": "a"}},
            {"strategy": {"$retainKeys": ["name"], "image": "x"}},
            BadRequest,
            "invalid patch format of retainKeys",
        ),
        ({}, {"$retainKeys": "name"}, BadRequest, "invalid patch format of retainKeys"),
        ({}, {"$setElementOrder": []}, BadRequest, "invalid patch format of setElementOrder list"),
        ({}, {"$deleteFromPrimitiveList": []}, BadRequest, "invalid patch format of primitive list"),
        (
            {"items": []},
            {"$setElementOrder/items": "a"},
            APIError,
            "expected a []interface {}, but received a string",
        ),
        ({"items": []}, {"$setElementOrder/items": []}, APIError, "no elements in any of the given slices"),
        (
            {"items": items("a")},
            {"$setElementOrder/items": items("b"), "items": items("a")},
            APIError,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
    ],
)
def test_a_patch_that_does_not_fit_says_why(
    document: dict[str, Any], patch: dict[str, Any], error: type[APIError], message: str
) -> None:
    with pytest.raises(error) as caught:
        patched(document, patch)
    assert str(caught.value) == message
    assert type(caught.value) is error
