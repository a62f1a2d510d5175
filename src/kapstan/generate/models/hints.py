"""From a schema to the text of a type hint, with every keyword kept as a marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kapstan.generate.known import QUANTITY_PATTERN
from kapstan.generate.schema import type_schema, without_descriptions
from kapstan.machinery.meta import Condition

__all__ = ("Hint", "hint_of")

Document = dict[str, Any]
# Writes the class of an object schema, and gives its name.
Define = Callable[[Document, str], str]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_CONDITION = without_descriptions(type_schema(Condition))
_META = {
    "minimum": "ge",
    "maximum": "le",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "pattern": "pattern",
    "title": "title",
    "description": "description",
}
_LIST_TYPES = {"set": "ListSet()", "atomic": "ListAtomic()"}


class Hint(NamedTuple):
    """The text of a type hint, and the default factory if an absent value is an empty one."""

    text: str
    factory: str = ""


def hint_of(schema: Document, name: str, define: Define) -> Hint:
    """The hint of a schema. `name` is what a class would be called that `define` writes for it."""
    base, used, factory = _base(schema, name, define)
    markers = _markers(schema, used)
    text = f"Annotated[{base}, {', '.join(markers)}]" if markers else base
    return Hint(text, factory)


def _base(schema: Document, name: str, define: Define) -> tuple[str, set[str], str]:
    """The bare type, the keywords that it says by itself, and its factory."""
    if schema.get("x-kubernetes-int-or-string") and schema.get("anyOf") == _INT_OR_STRING:
        used = {"x-kubernetes-int-or-string", "anyOf"}
        if schema.get("pattern") == QUANTITY_PATTERN:
            return "Quantity", {*used, "pattern"}, ""
        return "IntOrString", used, ""
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, name, define)
    if kind == "array" and "items" in schema:
        return f"list[{hint_of(schema['items'], name, define).text}]", {"type", "items"}, "list"
    if kind is None and schema.get("x-kubernetes-preserve-unknown-fields"):
        return "Any", {"x-kubernetes-preserve-unknown-fields"}, ""
    return _scalar(schema, kind)


def _object(schema: Document, name: str, define: Define) -> tuple[str, set[str], str]:
    own = {"type"}
    if _bare(schema) == _CONDITION:
        return "Condition", set(schema), ""
    if schema.get("properties"):
        return define(schema, name), {*own, "properties", "required", "description"}, ""
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return f"dict[str, {hint_of(values, name, define).text}]", {*own, "additionalProperties"}, "dict"
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return "dict[str, Any]", {*own, "x-kubernetes-preserve-unknown-fields"}, "dict"
    return _verbatim("dict[str, Any]", schema)


def _scalar(schema: Document, kind: str | None) -> tuple[str, set[str], str]:
    own = {"type"}
    form = schema.get("format")
    if "enum" in schema and kind in ("string", "integer"):
        return f"Literal[{', '.join(map(repr, schema['enum']))}]", {*own, "enum"}, ""
    known = {
        ("integer", "int32"): "Int32",
        ("integer", "int64"): "Int64",
        ("string", "date-time"): "Time",
        ("string", "byte"): "bytes",
    }.get((str(kind), str(form)))
    if known:
        return known, {*own, "format"}, ""
    plain = {"string": "str", "integer": "int", "boolean": "bool"}.get(str(kind))
    return (plain, own, "") if plain else _verbatim("Any", schema)


def _verbatim(base: str, schema: Document) -> tuple[str, set[str], str]:
    """What no Python type says is kept word for word."""
    kept = {key: value for key, value in schema.items() if key not in ("description", "default")}
    return f"Annotated[{base}, Schemaless({kept!r})]", set(schema) - {"default", "description"}, ""


def _markers(schema: Document, used: set[str]) -> list[str]:
    """The keywords that the bare type does not say."""
    rest = {key: value for key, value in schema.items() if key not in used}
    bounds = _bounds(rest)
    markers = [f"Meta({', '.join(f'{key}={value!r}' for key, value in bounds.items())})"] if bounds else []
    if "format" in rest:
        markers.append(f"Format({rest.pop('format')!r})")
    if "default" in rest:
        markers.append(f"Default({rest.pop('default')!r})")
    if rest.pop("nullable", False):
        markers.append("Nullable()")
    markers += _topology(rest)
    for key, marker in (("minProperties", "MinProperties"), ("maxProperties", "MaxProperties")):
        if key in rest:
            markers.append(f"{marker}({rest.pop(key)})")
    if rest.pop("x-kubernetes-preserve-unknown-fields", False):
        markers.append("PreserveUnknown()")
    markers += [_rule(rule) for rule in rest.pop("x-kubernetes-validations", ())]
    if rest:
        markers.append(f"Keywords({rest!r})")
    return markers


def _bounds(rest: Document) -> Document:
    """What `msgspec.Meta` can say; taken out of `rest`."""
    exclusive = {"minimum": rest.pop("exclusiveMinimum", False), "maximum": rest.pop("exclusiveMaximum", False)}
    found: Document = {}
    for key, name in _META.items():
        if key in rest:
            strict = exclusive.get(key, False)
            found[{"ge": "gt", "le": "lt"}[name] if strict else name] = rest.pop(key)
    return found


def _topology(rest: Document) -> list[str]:
    """How apply merges the value; taken out of `rest`."""
    markers: list[str] = []
    list_type = rest.pop("x-kubernetes-list-type", "")
    keys = rest.pop("x-kubernetes-list-map-keys", ())
    if list_type == "map":
        markers.append(f"ListMap({', '.join(map(repr, keys))})")
    elif list_type:
        markers.append(_LIST_TYPES[list_type])
    map_type = rest.pop("x-kubernetes-map-type", "")
    if map_type:
        markers.append("MapAtomic()" if map_type == "atomic" else "MapGranular()")
    return markers


def _rule(rule: Document) -> str:
    return f"CEL({rule_arguments(rule)})"


def rule_arguments(rule: Document) -> str:
    """The arguments of `CEL(...)` or `@cel(...)` for one entry of `x-kubernetes-validations`."""
    names = {
        "message": "message",
        "messageExpression": "message_expression",
        "reason": "reason",
        "fieldPath": "field_path",
        "optionalOldSelf": "optional_old_self",
    }
    extra = [f"{name}={rule[key]!r}" for key, name in names.items() if key in rule]
    return ", ".join([repr(rule["rule"]), *extra])


def _bare(schema: Document) -> Any:
    return without_descriptions(schema)
