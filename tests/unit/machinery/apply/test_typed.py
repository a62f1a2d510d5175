"""What types make of values: fields, differences, merges, removals."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver import builtin
from kapstan.machinery.apply.comparison import compare, equal
from kapstan.machinery.apply.fieldpath import canonical, set_of
from kapstan.machinery.apply.fieldset import fields_of, reconcile
from kapstan.machinery.apply.merging import merge
from kapstan.machinery.apply.removal import extract, remove
from kapstan.machinery.apply.types import ANYTHING, TypedError, compile_type
from kapstan.machinery.apply.validation import validate
from kapstan.machinery.schema import compile_schema

from .kinds import WIDGET, WIDGET_CHANGED

KIND = compile_type(compile_schema(WIDGET["v1"]))
CHANGED = compile_type(compile_schema(WIDGET_CHANGED))
DEPLOYMENT = compile_type(builtin.definitions().schema("io.k8s.api.apps.v1.Deployment"))


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def owned(**fields: Any) -> dict[str, Any]:
    return {"f:spec": {f"f:{name}": below for name, below in fields.items()}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (spec(text="x"), owned(text={})),
        (spec(text=None), owned(text={})),
        (spec(list=["a"]), owned(list={})),
        (spec(set=["b", "a"]), owned(set={'v:"a"': {}, 'v:"b"': {}})),
        (spec(set=["a", "a"]), owned(set={'v:"a"': {}})),
        (spec(set=[]), {}),
        (spec(labels={}), owned(labels={})),
        (spec(labels={"a": "1"}), owned(labels={"f:a": {}})),
        (spec(item={"value": "x"}), owned(item={"f:value": {}})),
        (spec(whole={"value": "x"}), owned(whole={})),
        (
            spec(keyed=[{"name": "a", "value": "x"}]),
            owned(keyed={'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}),
        ),
        (
            spec(keyed=[{"name": "a", "value": "x"}, {"name": "a"}]),
            owned(keyed={'k:{"name":"a"}': {}}),
        ),
        (
            spec(ports=[{"port": 80}]),
            owned(ports={'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}),
        ),
        (
            spec(items={"a": {"value": "x"}}),
            owned(items={"f:a": {".": {}, "f:value": {}}}),
        ),
        (
            spec(open={"a": {"b": [1]}}),
            owned(open={"f:a": {".": {}, "f:b": {}}}),
        ),
        (
            spec(partly={"text": "x", "inner": {"text": "x"}, "unknown": {"a": 1}}),
            owned(partly={"f:inner": {"f:text": {}}, "f:text": {}, "f:unknown": {".": {}, "f:a": {}}}),
        ),
        ({"metadata": {"finalizers": ["a"]}}, {"f:metadata": {"f:finalizers": {'v:"a"': {}}}}),
        (
            {"metadata": {"ownerReferences": [{"uid": "u", "name": "x"}]}},
            {"f:metadata": {"f:ownerReferences": {'k:{"uid":"u"}': {}}}},
        ),
    ],
)
def test_the_fields_that_a_value_mentions(value: Any, expected: Any) -> None:
    assert fields_of(KIND, value) == expected


def test_custom_kinds_declare_metadata_in_embedded_resources_too() -> None:
    value = spec(template={"metadata": {"finalizers": ["a"]}, "spec": {"a": 1}})
    assert fields_of(KIND, value) == owned(
        template={"f:metadata": {"f:finalizers": {'v:"a"': {}}}, "f:spec": {".": {}, "f:a": {}}}
    )


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        (spec(text="x"), spec(text="x"), {}, {}, {}),
        (spec(text="x"), spec(text="y"), {}, owned(text={}), {}),
        (spec(), spec(text="y"), owned(text={}), {}, {}),
        (spec(text="y"), spec(), {}, {}, owned(text={})),
        (spec(number=1), spec(number=1.0), {}, {}, {}),
        (spec(open=1), spec(open=True), {}, owned(open={}), {}),
        (spec(open={"a": 1}), spec(open="x"), {}, owned(open={}), owned(open={"f:a": {}})),
        (spec(), spec(labels={"a": "1"}), owned(labels={".": {}, "f:a": {}}), {}, {}),
        (spec(labels={}), spec(labels={"a": "1"}), owned(labels={"f:a": {}}), {}, {}),
        (spec(set=["a", "b"]), spec(set=["b", "c"]), owned(set={'v:"c"': {}}), {}, owned(set={'v:"a"': {}})),
        (spec(set=["a", "b"]), spec(set=["b", "a"]), {}, {}, {}),
        (spec(list=["a", "b"]), spec(list=["b", "a"]), {}, owned(list={}), {}),
        (
            spec(keyed=[{"name": "a", "value": "x"}]),
            spec(keyed=[{"name": "a", "value": "y"}, {"name": "b"}]),
            owned(keyed={'k:{"name":"b"}': {".": {}, "f:name": {}}}),
            owned(keyed={'k:{"name":"a"}': {"f:value": {}}}),
            {},
        ),
        (
            spec(keyed=[{"name": "a", "value": "x"}]),
            spec(keyed=[{"name": "a"}, {"name": "a"}]),
            owned(keyed={'k:{"name":"a"}': {}}),
            {},
            owned(keyed={'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}),
        ),
    ],
)
def test_differences(old: Any, new: Any, added: Any, modified: Any, removed: Any) -> None:
    assert compare(KIND, old, new) == (added, modified, removed)


def test_what_go_has_without_anybody_setting_it_is_not_added() -> None:
    """The strategy of a Deployment is an object in Go even where it is absent in JSON, a rolling update is not."""
    new = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    found = compare(DEPLOYMENT, {}, new)
    assert found.added == {"f:spec": {"f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}}}}


def test_new_parts_have_what_go_adds_to_them() -> None:
    """A container has resources in Go, so who adds the container owns them."""
    new = {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}
    added = compare(DEPLOYMENT, {}, new).added["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert added == {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:resources": {}}}
    literal = compare(DEPLOYMENT, {}, new, literal=True).added["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert literal == {'k:{"name":"a"}': {".": {}, "f:name": {}}}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ("x", "x", True),
        (None, {}, False),
    ],
)
def test_equality_is_that_of_json(left: Any, right: Any, expected: bool) -> None:
    assert equal(left, right) is expected


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        (spec(text="x", flag=True), spec(text="y"), spec(text="y", flag=True)),
        (spec(labels={"a": "1"}), spec(labels={"b": "2"}), spec(labels={"a": "1", "b": "2"})),
        (spec(labels={"a": "1"}), spec(labels=None), spec(labels={"a": "1"})),
        (spec(labels={}), spec(labels=None), spec(labels=None)),
        (spec(atomic={"a": "1"}), spec(atomic={"b": "2"}), spec(atomic={"b": "2"})),
        (spec(set=["a", "b", "c"]), spec(set=["c", "a"]), spec(set=["b", "c", "a"])),
        (spec(set=["a", "x", "b"]), spec(set=["b", "n", "a"]), spec(set=["x", "b", "n", "a"])),
        (
            spec(keyed=[{"name": "a", "value": "1"}, {"name": "b"}]),
            spec(keyed=[{"name": "a", "port": 1}]),
            spec(keyed=[{"name": "a", "value": "1", "port": 1}, {"name": "b"}]),
        ),
        (
            spec(keyed=[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]),
            spec(keyed=[{"name": "a", "port": 1}]),
            spec(keyed=[{"name": "a", "port": 1}]),
        ),
    ],
)
def test_merges(live: Any, applied: Any, expected: Any) -> None:
    assert merge(KIND, live, applied) == expected


def test_merging_what_is_there_changes_nothing() -> None:
    live = spec(text="x", keyed=[{"name": "a", "value": "1"}], open={"a": [1]}, labels={"a": "b"})
    assert merge(KIND, live, spec(text="x", keyed=[{"name": "a"}], labels={"a": "b"})) is live


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        (spec(text="x", flag=True), set_of(("spec", "text")), spec(flag=True)),
        (spec(labels={"a": "1"}), set_of(("spec", "labels", "a")), spec(labels=None)),
        (spec(keyed=[{"name": "a"}, {"name": "b"}]), owned(keyed={'k:{"name":"a"}': {}}), spec(keyed=[{"name": "b"}])),
        (spec(text="x"), set_of(("spec",)), None),
        (spec(text="x"), set_of(("spec", "flag")), spec(text="x")),
    ],
)
def test_removals(value: Any, fields: Any, expected: Any) -> None:
    assert remove(KIND, value, canonical(fields)) == expected


def test_extraction_keeps_what_is_in_the_set() -> None:
    value = spec(text="x", labels={"a": "1", "b": "2"}, keyed=[{"name": "a", "value": "1"}, {"name": "b"}])
    fields = owned(labels={"f:a": {}}, keyed={'k:{"name":"a"}': {"f:name": {}}})
    assert extract(KIND, value, canonical(fields)) == spec(labels={"a": "1"}, keyed=[{"name": "a"}])


def test_who_owned_parts_of_what_is_atomic_now_owns_the_whole() -> None:
    before = fields_of(KIND, spec(labels={"a": "1"}, keyed=[{"name": "a"}], set=["a"], text="x", open={"a": 1}))
    assert reconcile(before, CHANGED) == owned(keyed={}, labels={}, open={"f:a": {}}, set={}, text={})
    assert reconcile(before, KIND) is before


def test_a_kind_without_a_schema_is_split_as_far_as_its_maps_go() -> None:
    value = {"a": {"b": {"c": 1}}, "d": [{"e": 1}]}
    assert fields_of(ANYTHING, value) == {"f:a": {".": {}, "f:b": {".": {}, "f:c": {}}}, "f:d": {}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (spec(text=1), ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        (spec(number="x"), ".spec.number: expected numeric (int or float), got string"),
        (spec(flag="x"), ".spec.flag: expected boolean, got &{x}"),
        (spec(time={}), ".spec.time: expected any scalar, got &{map[]}"),
        (spec(list="x"), ".spec.list: expected list, got &{x}"),
        (spec(labels=[1]), ".spec.labels: expected map, got &{[1]}"),
        (spec(unknown=1), ".spec.unknown: field not declared in schema"),
        (spec(objects=[{"name": 1}]), ".spec.objects[0].name: expected string, got &value.valueUnstructured{Value:1}"),
        (
            spec(keyed=[{"name": "a", "port": "x"}]),
            '.spec.keyed[name="a"].port: expected numeric (int or float), got string',
        ),
        (spec(set=["a", "a"]), '.spec.set: duplicate entries for key [="a"]'),
        (spec(keyed=[{"name": "a"}, {"name": "a"}]), '.spec.keyed: duplicate entries for key [name="a"]'),
        (
            spec(keyed=[{"value": "x"}]),
            '.spec.keyed: element 0: associative list with keys has an element that omits all key fields ["name"]'
            " (and doesn't have default values for any key fields)",
        ),
        (spec(keyed=[None]), ".spec.keyed: element 0: associative list with keys may not have a null element"),
        (spec(set=[{}]), ".spec.set: element 0: associative list without keys has an element that's a map type"),
        (
            spec(text=1, flag=1),
            "errors:\n  .spec.text: expected string, got &value.valueUnstructured{Value:1}"
            "\n  .spec.flag: expected boolean, got &{1}",
        ),
    ],
)
def test_a_value_that_does_not_fit_says_why(value: Any, message: str) -> None:
    with pytest.raises(TypedError) as caught:
        validate(KIND, value)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [spec(text=None, keyed=None, labels=None), spec(open=[None, {}]), {}, spec()])
def test_a_value_that_fits_passes(value: Any) -> None:
    validate(KIND, value)
