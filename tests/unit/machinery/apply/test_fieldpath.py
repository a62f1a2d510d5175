"""Field sets: their canonical form, and the algebra on them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery.apply.fieldpath import (
    Fields,
    FieldsError,
    canonical,
    difference,
    has,
    intersection,
    parse,
    path_string,
    paths,
    recursive_difference,
    set_of,
    union,
)

elements = st.sampled_from(
    ["f:a", "f:b", "f:c", 'k:{"name":"a"}', 'k:{"port":80}', 'k:{"port":443}', 'v:"x"', "v:1", "v:10", "i:0", "i:11"]
)
trees: st.SearchStrategy[Any] = st.recursive(
    st.just({}), lambda below: st.dictionaries(elements | st.just("."), below, max_size=4), max_leaves=12
)
sets = trees.map(canonical)


def text(fields: Fields) -> str:
    return json.dumps(fields)


def members(fields: Fields) -> set[tuple[str, ...]]:
    return set(paths(fields))


@given(left=sets, right=sets)
def test_operations_are_those_of_sets_of_paths(left: Fields, right: Fields) -> None:
    assert members(union(left, right)) == members(left) | members(right)
    assert members(intersection(left, right)) == members(left) & members(right)
    assert members(difference(left, right)) == members(left) - members(right)


@given(left=sets, right=sets)
def test_recursive_difference_takes_what_is_below_too(left: Fields, right: Fields) -> None:
    gone = members(right)
    expected = {path for path in members(left) if not any(path[:length] in gone for length in range(1, len(path) + 1))}
    assert members(recursive_difference(left, right)) == expected


@given(left=sets, right=sets)
def test_results_are_canonical_and_arguments_unchanged(left: Fields, right: Fields) -> None:
    before = copy.deepcopy((left, right))
    for operation in (union, intersection, difference, recursive_difference):
        result = operation(left, right)
        assert text(result) == text(canonical(result))
    assert (left, right) == before


@given(fields=sets)
def test_a_set_has_its_members_and_no_others(fields: Fields) -> None:
    for path in paths(fields):
        assert has(fields, path)
        assert not has(difference(fields, fields), path)
    assert not has(fields, ())
    assert not has(fields, ("f:never",))


@given(fields=sets)
def test_what_does_not_change_a_set_returns_it_as_it_is(fields: Fields) -> None:
    """Unchanged sets are known by being the same object."""
    assert union(fields, fields) is fields
    assert union(fields, {}) is fields
    assert difference(fields, {"f:never": {}}) is fields


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({'k:{ "b": 1, "a": "x" }': {}}, '{"k:{\\"a\\":\\"x\\",\\"b\\":1}": {}}'),
        ({"v:1.0": {}}, '{"v:1": {}}'),
        ({'v:"<"': {}}, '{"v:\\"\\\\u003c\\"": {}}'),
        ({"v:10": {}, "v:9": {}, 'v:"a"': {}, "v:true": {}}, '{"v:9": {}, "v:10": {}, "v:\\"a\\"": {}, "v:true": {}}'),
        ({"i:0": {}, "v:1": {}, 'k:{"a":1}': {}, "f:z": {}}, '{"f:z": {}, "k:{\\"a\\":1}": {}, "v:1": {}, "i:0": {}}'),
        ({"f:a": {".": {}}}, '{"f:a": {}}'),
        ({"f:a": None}, '{"f:a": {}}'),
        ({"x:future": {"f:a": {}}, "f:b": {}}, '{"f:b": {}}'),
        (
            {'k:{"name":"a!"}': {}, 'k:{"name":"a"}': {}},
            '{"k:{\\"name\\":\\"a\\"}": {}, "k:{\\"name\\":\\"a!\\"}": {}}',
        ),
        (None, "{}"),
    ],
)
def test_foreign_sets_are_brought_into_canonical_form(raw: Any, expected: str) -> None:
    assert text(canonical(raw)) == expected


@pytest.mark.parametrize("raw", [[], {"f": {}}, {"fa": {}}, {"v:{": {}}, {"k:1": {}}, {"i:x": {}}, {"f:a": 1}])
def test_what_is_no_set_is_refused(raw: Any) -> None:
    with pytest.raises(FieldsError):
        canonical(raw)


def test_equal_bytes_are_parsed_once() -> None:
    data = b'{"f:spec":{"f:replicas":{}}}'
    assert parse(data) is parse(bytes(data))


def test_sets_are_made_of_paths_of_names() -> None:
    assert set_of(("a",), ("a", "b"), ("c", "d")) == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}


def test_paths_read_as_in_messages_members_of_a_level_first() -> None:
    fields = canonical(
        {
            "f:spec": {
                ".": {},
                "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}},
                "f:set": {'v:"a"': {}, "v:1": {}},
                "f:list": {"i:3": {}},
            }
        }
    )
    assert [path_string(path) for path in paths(fields)] == [
        ".spec",
        ".spec.list[3]",
        '.spec.ports[port=80,protocol="TCP"]',
        '.spec.ports[port=80,protocol="TCP"].name',
        ".spec.set[=1]",
        '.spec.set[="a"]',
    ]
