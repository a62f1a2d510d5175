"""Rules for the keywords of a custom kind's schema, beyond being structural: which are supported, and with which.

Works on schema documents. Messages and paths are apiextensions'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kapstan.apiserver.schema.fieldpath import InvalidFieldPath, resolve_field_path
from kapstan.apiserver.schema.prune import META_FIELDS
from kapstan.machinery.schema import compile_schema
from kapstan.machinery.validation import FieldError, Path

__all__ = ("Context", "Tolerance", "keyword_errors", "list_key_errors", "walk")

Document = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NEWLINES = re.compile(r"[\n\r]")


@dataclass(frozen=True)
class Tolerance:
    """What an old definition already did wrong, and its update may keep."""

    types: bool = False  # of other names than OpenAPI's
    unpruned_defaults: bool = False
    sets_of_granular_items: bool = False
    list_keys: bool = False  # optional or nullable ones
    rule_costs: bool = False


@dataclass(frozen=True)
class Context:
    """What the place of a schema node permits."""

    forbid_defaults: str | None = None  # the reason; None where defaults are allowed
    inside_metadata: bool = False


def walk(
    schema: Document, path: Path, context: Context, *, root: bool = False
) -> Iterator[tuple[Document, Path, Context]]:
    """Every schema node in the document, children first, as apiextensions visits them."""
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, Mapping):
        below = context
        if context.inside_metadata:
            below = replace(context, forbid_defaults="inside additionalProperties applying to object metadata")
        yield from walk(additional, path.child("additionalProperties"), below)
    for name, child in (schema.get("properties") or {}).items():
        below = context
        if (root or schema.get("x-kubernetes-embedded-resource")) and name in META_FIELDS:
            below = replace(below, inside_metadata=True)
            if root:
                below = replace(below, forbid_defaults=f"in top-level {name}")
        yield from walk(child, path.child("properties").key(name), below)
    if (negated := schema.get("not")) is not None:
        yield from walk(negated, path.child("not"), context)
    for keyword in ("allOf", "oneOf", "anyOf"):
        for position, branch in enumerate(schema.get(keyword) or ()):
            yield from walk(branch, path.child(keyword).index(position), context)
    for name, child in (schema.get("definitions") or {}).items():
        yield from walk(child, path.child("definitions").key(name), context)
    if isinstance(items, Mapping):
        yield from walk(items, path.child("items"), context)
    elif items is not None:
        for position, item in enumerate(items):
            yield from walk(item, path.child("items").index(position), context)
    yield schema, path, context


def keyword_errors(schema: Document, path: Path, context: Context, tolerance: Tolerance) -> Iterator[FieldError]:
    """What is wrong with the keywords of one node."""
    yield from _support_errors(schema, path, context, tolerance)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(path.child("uniqueItems"), detail)
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not True and schema.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield FieldError.forbidden(path.child("additionalProperties"), detail)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        at = path.child("x-kubernetes-preserve-unknown-fields")
        yield FieldError.invalid(at, False, "must be true or undefined")
    yield from _map_type_errors(schema, path)
    yield from _list_type_errors(schema, path, tolerance)
    if not tolerance.list_keys:
        yield from list_key_errors(schema, path)
    yield from _rule_errors(schema, path.child("x-kubernetes-validations"))


def _support_errors(schema: Document, path: Path, context: Context, tolerance: Tolerance) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES and not tolerance.types:
        yield FieldError.not_supported(path.child("type"), kind, _TYPES)
    if schema.get("default") is not None and context.forbid_defaults is not None:
        yield FieldError.forbidden(path.child("default"), f"must not be set {context.forbid_defaults}")
    for keyword in _NOT_SUPPORTED:
        if schema.get(keyword):
            yield FieldError.forbidden(path.child(keyword), f"{keyword} is not supported")
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield FieldError.forbidden(path.child("type"), detail)
    if isinstance(schema.get("items"), list):
        yield FieldError.forbidden(path.child("items"), "items must be a schema object and not an array")
    if context.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        at = path.child("x-kubernetes-embedded-resource")
        yield FieldError.forbidden(at, "must not be used inside of resource meta")


def _wants_type(schema: Document, wanted: str, keyword: str, path: Path) -> FieldError | None:
    kind, at = schema.get("type") or "", path.child("type")
    if schema.get(keyword) is None or kind == wanted:
        return None
    detail = f"must be {wanted} if {keyword} is specified"
    return FieldError.invalid(at, kind, detail) if kind else FieldError.required(at, detail)


def _map_type_errors(schema: Document, path: Path) -> Iterator[FieldError]:
    keyword = "x-kubernetes-map-type"
    if (error := _wants_type(schema, "object", keyword, path)) is not None:
        yield error
    if (value := schema.get(keyword)) not in (None, "atomic", "granular"):
        yield FieldError.not_supported(path.child(keyword), value, ("atomic", "granular"))


def _list_type_errors(schema: Document, path: Path, tolerance: Tolerance) -> Iterator[FieldError]:
    keyword = "x-kubernetes-list-type"
    kind, keys = schema.get(keyword), schema.get("x-kubernetes-list-map-keys") or []
    if (error := _wants_type(schema, "array", keyword, path)) is not None:
        yield error
    elif kind == "set" and not tolerance.sets_of_granular_items:
        yield from _set_item_errors(schema.get("items"), path.child("items"))
    if kind not in (None, "atomic", "set", "map"):
        yield FieldError.not_supported(path.child(keyword), kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = path.child(keyword)
        yield FieldError.required(at, detail) if kind is None else FieldError.invalid(at, kind, detail)
    if kind == "map":
        yield from _map_list_errors(schema, keys, path)


def _set_item_errors(items: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(items, Mapping):
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield FieldError.invalid(path.child("x-kubernetes-list-type"), list_type, detail)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield FieldError.invalid(path.child("x-kubernetes-map-type"), list_type, detail)


def _map_list_errors(schema: Document, keys: list[str], path: Path) -> Iterator[FieldError]:
    items, at = schema.get("items"), path.child("x-kubernetes-list-map-keys")
    if not keys:
        yield FieldError.required(at, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield FieldError.required(path.child("items"), "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        return
    if (kind := items.get("type") or "") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(path.child("items").child("type"), kind, detail)
        return
    properties = items.get("properties") or {}
    for position, key in enumerate(keys):
        if key not in properties:
            yield FieldError.invalid(at, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield FieldError.invalid(path.child("items", "properties").key(key).child("type"), kind, detail)
        if key in keys[:position]:
            yield FieldError.invalid(at, keys, "must not contain duplicate entries")


def list_key_errors(schema: Document, path: Path) -> Iterator[FieldError]:
    """Items of sets and maps, and the keys of maps, are never null; keys are required or have a default."""
    items, kind = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or kind not in ("set", "map"):
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield FieldError.forbidden(path.child("items").child("nullable"), detail)
    if kind == "set":
        return
    why = "this property is in x-kubernetes-list-map-keys, so it"
    for key in schema.get("x-kubernetes-list-map-keys") or ():
        field = (items.get("properties") or {}).get(key)
        if field is None:
            continue
        at = path.child("items", "properties").key(key)
        if key not in (items.get("required") or ()) and field.get("default") is None:
            yield FieldError.required(at.child("default"), f"{why} must have a default or be a required property")
        if field.get("nullable"):
            yield FieldError.forbidden(at.child("nullable"), f"{why} cannot be nullable")


# --- Rules ---------------------------------------------------------------------------------------------------------


def _rule_errors(schema: Document, path: Path) -> Iterator[FieldError]:
    """What is wrong with rules before anyone compiles them."""
    for position, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        at = path.index(position)
        yield from _rule_text_errors(rule, at)
        if (expression := rule.get("messageExpression")) and not expression.strip():
            detail = "messageExpression must be non-empty if specified"
            yield FieldError.required(at.child("messageExpression"), detail)
        if (reason := rule.get("reason")) is not None and reason not in _REASONS:
            yield FieldError.not_supported(at.child("reason"), reason, _REASONS)
        if field_path := rule.get("fieldPath"):
            yield from _field_path_errors(schema, field_path, at.child("fieldPath"))


def _rule_text_errors(rule: Document, at: Path) -> Iterator[FieldError]:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield FieldError.required(at.child("rule"), "rule is not specified")
    elif message and not message.strip():
        yield FieldError.invalid(at.child("message"), message, "must be non-empty if specified")
    elif _NEWLINES.search(message.strip()):
        yield FieldError.invalid(at.child("message"), message, "must not contain line breaks")
    elif _NEWLINES.search(text.strip()) and not message.strip():
        yield FieldError.required(at.child("message"), "message must be specified if rule contains line breaks")


def _field_path_errors(schema: Document, field_path: str, at: Path) -> Iterator[FieldError]:
    if not field_path.strip():
        yield FieldError.invalid(at, field_path, "must be non-empty if specified")
    if _NEWLINES.search(field_path):
        yield FieldError.invalid(at, field_path, "must not contain line breaks")
    try:
        resolve_field_path(field_path, compile_schema(schema))
    except InvalidFieldPath:
        yield FieldError.invalid(at, field_path, "must be a valid path")
