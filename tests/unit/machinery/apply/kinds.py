"""Kinds to try apply with: a custom one that has every type there is, in two versions, and some built-in ones."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.builtin import facts

__all__ = ("BUILTIN", "DEFINITIONS", "GROUP", "RENAMED", "RESET", "WIDGET", "WIDGET_CHANGED")

Json = dict[str, Any]

GROUP = "example.dev"
RESET = {"": ["status"], "status": ["metadata", "spec"]}
RENAMED: dict[str, dict[str, str]] = {"v1": {}, "v2": {"text": "words", "keyed": "named", "labels": "tags"}}
"""The fields of `spec` that are called something else in a version."""

TEXT = {"type": "string"}
ITEM: Json = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "port": {"type": "integer"},
        "protocol": {"type": "string", "default": "TCP"},
        "value": TEXT,
        "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "more": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "value": TEXT}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    },
}


def array(items: Json, kind: str = "", *keys: str) -> Json:
    made: Json = {"type": "array", "items": items}
    if kind:
        made["x-kubernetes-list-type"] = kind
    if keys:
        made["x-kubernetes-list-map-keys"] = list(keys)
    return made


def mapping(values: Json, **more: Any) -> Json:
    return {"type": "object", "additionalProperties": values, **more}


SPEC: Json = {
    "text": TEXT,
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "open": {"x-kubernetes-preserve-unknown-fields": True},
    "free": {"type": "object"},
    "partly": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"text": TEXT, "inner": {"type": "object", "properties": {"text": TEXT}}},
    },
    "labels": mapping(TEXT),
    "items": mapping(ITEM),
    "atomic": mapping(TEXT, **{"x-kubernetes-map-type": "atomic"}),
    "item": ITEM,
    "whole": {**ITEM, "x-kubernetes-map-type": "atomic"},
    "list": array(TEXT),
    "objects": array(ITEM, "atomic"),
    "set": array(TEXT, "set"),
    "numbers": array({"type": "number"}, "set"),
    "keyed": array(ITEM, "map", "name"),
    "ports": array(ITEM, "map", "port", "protocol"),
    "template": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


def widget(version: str, spec: Json) -> Json:
    """The schema of the kind in a version."""
    fields = {RENAMED[version].get(name, name): part for name, part in spec.items()}
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": fields},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "conditions": CONDITIONS}},
        },
    }


CONDITIONS = array({"type": "object", "properties": {"type": TEXT, "status": TEXT, "message": TEXT}}, "map", "type")
WIDGET = {version: widget(version, SPEC) for version in RENAMED}
WIDGET_CHANGED = widget(
    "v1",
    {
        **SPEC,
        "labels": SPEC["atomic"],
        "item": SPEC["whole"],
        "whole": ITEM,
        "keyed": array(ITEM, "atomic"),
        "set": array(TEXT),
        "list": array(TEXT, "set"),
        "partly": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": SPEC["partly"]["properties"]},
    },
)
"""The kind after its author made granular fields atomic, and the reverse."""

BUILTIN: tuple[tuple[str, str, str], ...] = tuple(
    (each.group, each.version, resource.kind)
    for each in facts.group_versions()
    for resource in each.resources
    if "update" in resource.verbs
)
"""All built-in kinds that can be updated."""

_META = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}


def _published(schema: Json, version: str) -> Json:
    """As an API server publishes the schema of a custom kind: with what all resources have."""
    published: Json = _with_metadata({**schema, "x-kubernetes-embedded-resource": True})
    published["x-kubernetes-group-version-kind"] = [{"group": GROUP, "version": version, "kind": "Widget"}]
    return published


def _with_metadata(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    result = {key: _with_metadata(part) for key, part in schema.items()}
    if result.pop("x-kubernetes-embedded-resource", False):
        result["properties"] = {"apiVersion": TEXT, "kind": TEXT, **result.get("properties", {}), "metadata": _META}
    return result


DEFINITIONS: dict[str, Json] = {
    **{name: dict(definition) for name, definition in facts.definition_sources().items()},
    **{f"dev.example.{version}.Widget": _published(schema, version) for version, schema in WIDGET.items()},
    "dev.example.changed.Widget": _published(WIDGET_CHANGED, "changed"),
}
"""All of them, for the oracle."""
