"""What only the whole shows: nothing is shared that must not be, quick and thorough validation agree, hostile input."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings

from kapstan.apiserver.schema.coerce import InvalidMetadata
from kapstan.apiserver.schema.custom import CustomResourceSchema
from kapstan.apiserver.schema.explain import explain
from kapstan.apiserver.schema.objectmeta import validate_object_meta
from kapstan.apiserver.schema.prune import prune
from kapstan.machinery.schema import Definitions, compile_schema

from .strategies import Case, cases


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def schema_of(**properties: object) -> CustomResourceSchema:
    spec = {"type": "object", "properties": properties}
    return CustomResourceSchema({"type": "object", "properties": {"spec": spec}})


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_quick_and_thorough_validation_agree(case: Case) -> None:
    source, new, _ = case
    schema = CustomResourceSchema(source)
    assert schema._accepts(new) == (explain(new, schema.schema) == [])


@settings(max_examples=30, deadline=None)
@given(case=cases())
def test_pruning_and_defaulting_twice_changes_nothing_more(case: Case) -> None:
    source, new, _ = case
    schema = CustomResourceSchema(source)
    obj = copy.deepcopy(new)
    try:
        schema.prune(obj)
        schema.default(obj)
        once = copy.deepcopy(obj)
        schema.default(obj)
    except InvalidMetadata:
        return
    assert obj == once


def test_defaults_are_copies() -> None:
    schema = schema_of(labels={"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": "b"}})
    first, second = widget(), widget()
    schema.default(first)
    schema.default(second)
    assert first["spec"] == {"labels": {"a": "b"}}
    first["spec"]["labels"]["a"] = "changed"
    assert second["spec"] == {"labels": {"a": "b"}}


def test_a_huge_integer_is_judged_at_once() -> None:
    """Python would search a range for a float one by one."""
    schema = schema_of(size={"type": "number", "multipleOf": 2, "maximum": 10})
    errors = schema.validate(widget(size=10**30))
    assert {error.field for error in errors} == {"spec.size"}


def test_metadata_that_does_not_decode_is_refused_when_pruning() -> None:
    schema = schema_of(
        pod={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    )
    with pytest.raises(InvalidMetadata, match=r"^spec.pod.metadata: Invalid value: .*of type map\[string\]string$"):
        schema.prune(widget(pod={"metadata": {"labels": {"a": "b"}, "annotations": "x"}}))


def test_annotations_may_have_256_kib_together() -> None:
    metadata = {"name": "w", "annotations": {"a": "x" * (256 * 1024 - 1)}}
    assert validate_object_meta(metadata, namespaced=False) == []
    metadata["annotations"] = {"a": "x" * (256 * 1024)}
    (error,) = validate_object_meta(metadata, namespaced=False)
    assert str(error) == "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_built_in_definitions_without_fields_hold_anything() -> None:
    """RawExtension and FieldsV1 say no more than that they are objects."""
    definitions = Definitions(
        {
            "RawExtension": {"type": "object"},
            "Node": {
                "type": "object",
                "properties": {
                    "raw": {"$ref": "#/components/schemas/RawExtension"},
                    "next": {"$ref": "#/components/schemas/Node"},
                },
            },
        }
    )
    obj = {"raw": {"anything": [{"goes": 1}]}, "next": {"raw": {"x": 1}, "next": {"typo": 1}}}
    schema = compile_schema({"$ref": "#/components/schemas/Node"}, definitions)
    assert prune(obj, schema, resource_root=False) == ["next.next.typo"]
    assert obj == {"raw": {"anything": [{"goes": 1}]}, "next": {"raw": {"x": 1}, "next": {}}}


def test_what_is_said_of_unknown_fields_has_an_end() -> None:
    """All are dropped, though."""
    known = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = compile_schema({"type": "object", "additionalProperties": known})
    obj: dict[str, Any] = {"x" * 100_000: {f"u{number}": 1 for number in range(1000)}}
    dropped = prune(obj, schema, resource_root=False)
    assert 0 < sum(map(len, dropped)) < 10_000_000
    assert list(obj.values()) == [{}]
