"""The OpenAPI v3 schema of a Python type, structural and inlined, as controller-gen would write it for its Go twin."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Union

import msgspec
from msgspec import NODEFAULT

from kapstan.generate.descriptions import field_descriptions, type_description
from kapstan.generate.errors import GenerateError
from kapstan.generate.known import KNOWN_SCALARS, KNOWN_STRUCTS
from kapstan.machinery import markers as m
from kapstan.machinery.base import Model
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.rules import keywords_of, rules_of

__all__ = ("SchemaError", "schema_of", "type_schema", "without_descriptions")

Document = dict[str, Any]

_LOOKAROUND = re.compile(r"\(\?[=!<]")


class SchemaError(GenerateError):
    """A type that no CRD can express; the text names the field and says what to do."""


def type_schema(cls: type[Model], *, descriptions: bool = True) -> Document:
    """The schema of a struct type, on its own."""
    return _struct(cls, cls.__name__, (), descriptions)


def schema_of(hint: Any, path: str, inside: tuple[type, ...] = (), descriptions: bool = True) -> Document:
    """The schema of any type hint; `path` is where it stands, for errors, and `inside` the types around it."""
    base, metadata = _unwrap(hint)
    _check_bounds(metadata, path)
    override = next((marker for marker in metadata if isinstance(marker, m.Schemaless)), None)
    if override is not None:
        schema: Document = dict(to_builtins(override.schema))
    elif any(isinstance(marker, m.IntOrStringMarker) for marker in metadata):
        schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    else:
        schema = _plain(base, path, inside, descriptions)
    for marker in metadata:
        _mark(schema, marker, path, descriptions)
    return schema


def _unwrap(hint: Any) -> tuple[Any, list[Any]]:
    """The bare type and every marker on it, outermost last. `T | None` is T: absence is not a type of its own."""
    metadata: list[Any] = []
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            hint, *found = typing.get_args(hint)
            metadata[:0] = found
        elif origin in (Union, types.UnionType) and type(None) in typing.get_args(hint):
            rest = [arg for arg in typing.get_args(hint) if arg is not type(None)]
            hint = rest[0] if len(rest) == 1 else Union[tuple(rest)]  # noqa: UP007 - built from a list
        else:
            return hint, metadata


def _plain(base: Any, path: str, inside: tuple[type, ...], descriptions: bool) -> Document:
    known = KNOWN_SCALARS.get(base)
    if known is not None:
        return known()
    if base is Any or base is object:
        return {"x-kubernetes-preserve-unknown-fields": True}
    origin = typing.get_origin(base)
    if origin is Literal:
        return _enum(typing.get_args(base), path)
    if origin in (list, tuple, set, frozenset) or base in (list, tuple):
        return _array(base, path, inside, descriptions)
    if origin in (dict, Mapping) or base is dict:
        return _map(base, path, inside, descriptions)
    if isinstance(base, type):
        return _class(base, path, inside, descriptions)
    raise SchemaError(f"{path}: a CRD cannot express {base!r}; use one type, Any, or a Schemaless(...) marker")


def _class(cls: type, path: str, inside: tuple[type, ...], descriptions: bool) -> Document:
    if issubclass(cls, float):
        raise SchemaError(f"{path}: floats differ between languages; use Quantity, an integer or a string")
    if issubclass(cls, enum.Enum):
        return _enum([member.value for member in cls], path)
    if issubclass(cls, Model):
        return _struct(cls, path, inside, descriptions)
    raise SchemaError(f"{path}: {cls.__name__} is not an API type; derive it from Model")


def _enum(values: Iterable[Any], path: str) -> Document:
    listed = list(values)
    kinds = {type(value) for value in listed}
    if kinds == {str}:
        return {"enum": listed, "type": "string"}
    if kinds == {int}:
        return {"enum": listed, "type": "integer"}
    raise SchemaError(f"{path}: the values of an enumeration are all strings or all integers, not {listed!r}")


def _array(base: Any, path: str, inside: tuple[type, ...], descriptions: bool) -> Document:
    item = next(iter(typing.get_args(base)), Any)
    return {"items": schema_of(item, f"{path}[]", inside, descriptions), "type": "array"}


def _map(base: Any, path: str, inside: tuple[type, ...], descriptions: bool) -> Document:
    arguments = typing.get_args(base)
    key, value = arguments if len(arguments) == 2 else (str, Any)
    if _unwrap(key)[0] is not str:
        raise SchemaError(f"{path}: the keys of a map are strings in JSON, not {key!r}")
    if value is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"additionalProperties": schema_of(value, f"{path}[*]", inside, descriptions), "type": "object"}


def _struct(cls: type[Model], path: str, inside: tuple[type, ...], descriptions: bool) -> Document:
    if cls in inside:
        raise SchemaError(
            f"{path}: {cls.__name__} contains itself, and a CRD's schema cannot be recursive; "
            "break the cycle with a field of type Any"
        )
    known = KNOWN_STRUCTS.get(cls)
    if known is not None:
        return known() if descriptions else without_descriptions(known())
    schema: Document = {"type": "object"}
    if descriptions and (text := type_description(cls)):
        schema["description"] = text
    schema.update(to_builtins(keywords_of(cls)))
    told = field_descriptions(cls) if descriptions else {}
    hints = typing.get_type_hints(cls, include_extras=True)
    properties: Document = {}
    required: list[str] = []
    optional: dict[str, Any] = {}
    for field in msgspec.structs.fields(cls):
        hint = hints[field.name]
        where = f"{path}.{field.encode_name}"
        prop = schema_of(hint, where, (*inside, cls), descriptions)
        if text := told.get(field.name, ""):
            prop["description"] = text
        properties[field.encode_name] = prop
        if _is_required(field, hint):
            required.append(field.encode_name)
        else:
            optional[field.encode_name] = hint
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = sorted(required)
    kept = [name for name, hint in optional.items() if _has(hint, m.Immutable)]
    if rules := [_rule(rule) for rule in (*rules_of(cls), *map(_stays_set, kept))]:
        schema["x-kubernetes-validations"] = rules
    return schema


def _stays_set(name: str) -> m.CEL:
    """A rule of an absent field is not asked; that an immutable one is not taken away, the object around it says."""
    return m.CEL(f"!has(oldSelf.{name}) || has(self.{name})", f"field {name} is immutable once set")


def _is_required(field: msgspec.structs.FieldInfo, hint: Any) -> bool:
    if _has(hint, m.Required):
        return True
    return not _has(hint, m.Optional) and field.default is NODEFAULT and field.default_factory is NODEFAULT


def _has(hint: Any, marker: type) -> bool:
    return any(isinstance(one, marker) for one in _unwrap(hint)[1])


def _rule(rule: m.CEL) -> Document:
    document: Document = {"rule": rule.rule}
    for key, value in (
        ("message", rule.message),
        ("messageExpression", rule.message_expression),
        ("reason", rule.reason),
        ("fieldPath", rule.field_path),
        ("optionalOldSelf", rule.optional_old_self),
    ):
        if value or value is False:
            document[key] = value
    return document


def _mark(schema: Document, marker: Any, path: str, descriptions: bool) -> None:
    """Let one marker speak."""
    if isinstance(marker, msgspec.Meta):
        _meta(schema, marker, path, descriptions)
        return
    apply = _MARKERS.get(type(marker))
    if apply is not None:
        apply(schema, marker)


_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


def _check_bounds(metadata: list[Any], path: str) -> None:
    """A bound is said once: msgspec refuses to decode what has two."""
    said = [
        name for one in metadata if isinstance(one, msgspec.Meta) for name in _BOUNDS if getattr(one, name) is not None
    ]
    twice = next((name for name in said if said.count(name) > 1), "")
    if twice:
        raise SchemaError(f"{path}: {twice} is said twice, by the type and by the field; say it once")


def _meta(schema: Document, meta: msgspec.Meta, path: str, descriptions: bool) -> None:
    for bound, keyword, exclusive in (
        (meta.ge, "minimum", ""),
        (meta.gt, "minimum", "exclusiveMinimum"),
        (meta.le, "maximum", ""),
        (meta.lt, "maximum", "exclusiveMaximum"),
    ):
        if bound is not None:
            schema[keyword] = bound
            if exclusive:
                schema[exclusive] = True
    if meta.multiple_of is not None:
        schema["multipleOf"] = meta.multiple_of
    suffix = {"array": "Items", "object": "Properties"}.get(schema.get("type", ""), "Length")
    if meta.min_length is not None:
        schema[f"min{suffix}"] = meta.min_length
    if meta.max_length is not None:
        schema[f"max{suffix}"] = meta.max_length
    if meta.pattern is not None:
        if _LOOKAROUND.search(meta.pattern):
            raise SchemaError(f"{path}: the API server's patterns are RE2, which has no look-around: {meta.pattern!r}")
        schema["pattern"] = meta.pattern
    if meta.title:
        schema["title"] = meta.title
    if meta.examples:
        schema["example"] = to_builtins(meta.examples[0])
    if descriptions and meta.description:
        schema["description"] = meta.description


def _add_rule(schema: Document, rule: m.CEL) -> None:
    schema.setdefault("x-kubernetes-validations", []).append(_rule(rule))


def _set(**keywords: Any) -> Callable[[Document, Any], None]:
    def apply(schema: Document, _: Any) -> None:
        schema.update({key.replace("__", "-"): value for key, value in keywords.items()})

    return apply


def _list_map(schema: Document, marker: m.ListMap) -> None:
    schema["x-kubernetes-list-type"] = "map"
    schema["x-kubernetes-list-map-keys"] = list(marker.keys)


_MARKERS: dict[type, Callable[[Document, Any], None]] = {
    m.CEL: _add_rule,
    m.Immutable: lambda schema, _: _add_rule(schema, m.CEL("self == oldSelf", "field is immutable")),
    m.Default: lambda schema, marker: schema.update(default=to_builtins(marker.value)),
    m.Example: lambda schema, marker: schema.update(example=to_builtins(marker.value)),
    m.Format: lambda schema, marker: schema.update(format=marker.name),
    m.SchemaType: lambda schema, marker: schema.update(type=marker.name),
    m.MinProperties: lambda schema, marker: schema.update(minProperties=marker.count),
    m.MaxProperties: lambda schema, marker: schema.update(maxProperties=marker.count),
    m.Keywords: lambda schema, marker: schema.update(to_builtins(marker.schema)),
    m.Nullable: lambda schema, _: schema.update(nullable=True),
    m.ListMap: _list_map,
    m.ListSet: _set(**{"x-kubernetes-list-type": "set"}),
    m.ListAtomic: _set(**{"x-kubernetes-list-type": "atomic"}),
    m.MapAtomic: _set(**{"x-kubernetes-map-type": "atomic"}),
    m.MapGranular: _set(**{"x-kubernetes-map-type": "granular"}),
    m.StructAtomic: _set(**{"x-kubernetes-map-type": "atomic"}),
    m.PreserveUnknown: _set(**{"x-kubernetes-preserve-unknown-fields": True}),
    m.Embedded: _set(**{"x-kubernetes-embedded-resource": True, "type": "object"}),
}


def without_descriptions(schema: Any) -> Any:
    """The schema alone. A *property* called `description` is a schema itself, and stays."""
    if isinstance(schema, list):
        return [without_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_descriptions(prop) for name, prop in value.items()}
        if key == "properties"
        else value
        if key in ("default", "enum", "example")
        else without_descriptions(value)
        for key, value in schema.items()
        if key != "description"
    }
