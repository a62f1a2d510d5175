"""Types from schemas: what expressions see of an object, and how its JSON becomes their values.

A schema that says nothing of its values is not exposed, nor is anything that contains one. Names of properties are
escaped. Sizes are kept along: they are what the cost of a rule is estimated from.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.escaping import escape
from kapstan.apiserver.schema.cel.parser import RESERVED
from kapstan.apiserver.schema.cel.schemavalues import KeyedList, ListOf, MapOf, ObjectValue, SetList, Shape
from kapstan.apiserver.schema.cel.types import Type
from kapstan.apiserver.schema.cel.values import Duration, EvaluationError, Timestamp
from kapstan.apiserver.schema.formats.times import parse_date, parse_datetime, parse_duration
from kapstan.machinery.schema import Schema, compile_schema

__all__ = ("MAX_REQUEST_SIZE", "SchemaType", "schema_type", "with_type_and_object_meta")

MAX_REQUEST_SIZE = 3 * 1024 * 1024

Convert: TypeAlias = "Callable[[Any], Any]"


class SchemaType:
    """A schema as a type of expressions."""

    __slots__ = ("convert", "element", "fields", "max_elements", "min_size", "type")

    def __init__(
        self,
        type: Type,
        convert: Convert,
        *,
        min_size: int,
        max_elements: int = 0,
        element: SchemaType | None = None,
        fields: Mapping[str, SchemaType] | None = None,
    ) -> None:
        self.type = type
        self.convert = convert
        self.min_size = min_size  # bytes of JSON that a value takes at least
        self.max_elements = max_elements  # characters, items or entries that a value has at most
        self.element = element
        self.fields = fields


def schema_type(schema: Schema, name: str = "selfType0", *, resource_root: bool = False) -> SchemaType | None:
    """The type of a schema's values; None if expressions may not see them."""
    if schema.int_or_string:
        size = _max_length(schema) if schema.max_length is not None else MAX_REQUEST_SIZE - 2
        return SchemaType(types.DYN, _nullable(schema, _expect(str, int)), min_size=1, max_elements=size)
    if resource_root:
        schema = with_type_and_object_meta(schema)
    match schema.type:
        case "array":
            return _list_type(schema, name)
        case "object" if isinstance(schema.additional, Schema):
            return _map_type(schema, schema.additional, name)
        case "object":
            return _object_type(schema, name)
        case "string":
            return _string_type(schema)
        case "boolean":
            return SchemaType(types.BOOL, _nullable(schema, _expect(bool)), min_size=4)
        case "number":
            return SchemaType(types.DOUBLE, _nullable(schema, _to_double), min_size=1)
        case "integer":
            return SchemaType(types.INT, _nullable(schema, _expect(int)), min_size=1)
    return None


_META = compile_schema(
    {
        "properties": {
            "kind": {"type": "string"},
            "apiVersion": {"type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
            },
        }
    }
).properties


def with_type_and_object_meta(schema: Schema) -> Schema:
    """The schema of a resource with apiVersion, kind and the names of its metadata, which rules may always use."""
    properties = schema.properties
    metadata = properties.get("metadata")
    names = metadata.properties if metadata is not None and metadata.type == "object" else {}
    declared = (properties.get("kind"), properties.get("apiVersion"), names.get("name"), names.get("generateName"))
    if all(field is not None and field.type == "string" for field in declared):
        return schema
    complete = Schema(schema.source)
    complete.properties = {**properties, **_META}
    complete.additional, complete.items = schema.additional, schema.items
    return complete


def _list_type(schema: Schema, name: str) -> SchemaType | None:
    if schema.items is None:
        return None
    item = schema_type(schema.items, f"{name}.@idx", resource_root=schema.items.embedded_resource)
    if item is None:
        return None
    most = max(schema.max_items, 0) if schema.max_items is not None else (MAX_REQUEST_SIZE - 2) // (item.min_size + 1)
    convert = item.convert

    def wrap(value: Any) -> Any:
        if type(value) is not list:
            raise EvaluationError("invalid data, expected an array for the provided schema with type=array")
        match schema.list_type:
            case "set":
                return SetList(value, convert)
            case "map":
                return KeyedList(value, convert, schema.list_map_keys)
        return ListOf(value, convert)

    return SchemaType(types.list_of(item.type), _nullable(schema, wrap), min_size=2, max_elements=most, element=item)


def _map_type(schema: Schema, additional: Schema, name: str) -> SchemaType | None:
    value = schema_type(additional, f"{name}.@elem", resource_root=additional.embedded_resource)
    if value is None:
        return None
    limit = schema.max_properties
    most = max(limit, 0) if limit is not None else (MAX_REQUEST_SIZE - 2) // (value.min_size + 6)
    convert = value.convert

    def wrap(raw: Any) -> Any:
        if type(raw) is not dict:
            raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
        return MapOf(raw, convert)

    type_ = types.map_of(types.STRING, value.type)
    return SchemaType(type_, _nullable(schema, wrap), min_size=2, max_elements=most, element=value)


def _object_type(schema: Schema, name: str) -> SchemaType:
    fields: dict[str, SchemaType] = {}
    readers: dict[str, tuple[str, Convert]] = {}
    min_size = 2
    for property, child in schema.properties.items():
        identifier = escape(property)
        field = schema_type(child, f"{name}.{identifier}", resource_root=child.embedded_resource)
        if field is None:
            continue
        if identifier is not None:
            # Keywords may be written as they are where only a field can be meant.
            for spelling in (property, identifier) if property in RESERVED else (identifier,):
                fields[spelling] = field
                readers[spelling] = (property, field.convert)
        if property in schema.required and child.default is None:
            min_size += len(property.encode()) + field.min_size + 4
    shape = Shape(readers)

    def wrap(value: Any) -> Any:
        if type(value) is not dict:
            raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
        return ObjectValue(value, shape)

    declared = types.object_type(name, {field: found.type for field, found in fields.items()})
    return SchemaType(declared, _nullable(schema, wrap), min_size=min_size, fields=fields)


def _string_type(schema: Schema) -> SchemaType:
    match schema.format:
        case "byte":
            limit = schema.max_length
            most = max(limit, 0) if limit is not None else MAX_REQUEST_SIZE - 2
            return SchemaType(types.BYTES, _nullable(schema, _to_bytes), min_size=2, max_elements=most)
        case "duration":
            return SchemaType(types.DURATION, _nullable(schema, _to_duration), min_size=3, max_elements=32)
        case "date":
            return SchemaType(types.TIMESTAMP, _nullable(schema, _to_date), min_size=12, max_elements=12)
        case "date-time":
            return SchemaType(types.TIMESTAMP, _nullable(schema, _to_timestamp), min_size=21, max_elements=32)
    if schema.max_length is not None:
        most = _max_length(schema)
    elif schema.enum:
        most = max((len(value.encode()) for value in schema.enum if isinstance(value, str)), default=0)
    else:
        most = MAX_REQUEST_SIZE - 2
    return SchemaType(types.STRING, _nullable(schema, _expect(str)), min_size=2, max_elements=most)


def _max_length(schema: Schema) -> int:
    """In bytes: a character may take four."""
    return max(schema.max_length or 0, 0) * 4


# --- Values --------------------------------------------------------------------------------------------------------

_GO_TYPES = {str: "string", int: "int64", float: "float64", bool: "bool", list: "[]interface {}"}
_WANTED = {str: "string", int: "int", bool: "bool"}


def _nullable(schema: Schema, convert: Convert) -> Convert:
    if not schema.nullable:
        return convert
    return lambda value: None if value is None else convert(value)


def _wrong(wanted: str, value: Any) -> EvaluationError:
    if value is None:
        return EvaluationError("invalid data, got null for schema with nullable=false")
    found = _GO_TYPES.get(type(value), "map[string]interface {}")
    return EvaluationError(f"invalid data, expected {wanted}, got {found}")


def _expect(*accepted: type) -> Convert:
    """The value itself, if it has the type; ratcheting lets objects pass whose values have not."""
    if len(accepted) == 1:
        (only,) = accepted

        def convert(value: Any) -> Any:
            if type(value) is only:
                return value
            raise _wrong(_WANTED[only], value)

        return convert

    def convert_any(value: Any) -> Any:
        if type(value) in accepted:
            return value
        raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")

    return convert_any


def _to_double(value: Any) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    raise _wrong("float", value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _wrong("string", value)
    return value


def _to_bytes(value: Any) -> bytes:
    """The format `byte` is read as URL-safe base64."""
    try:
        if set(_text(value)) & set("+/"):
            raise ValueError
        return base64.urlsafe_b64decode(value.encode())
    except (ValueError, binascii.Error):
        raise EvaluationError(f"Invalid byte formatted string {value}: illegal base64 data") from None


def _to_duration(value: Any) -> Duration:
    parsed = parse_duration(_text(value))
    if parsed is None:
        raise EvaluationError(f"Invalid duration {value}: unable to parse {value} as duration")
    return Duration(parsed)


def _to_date(value: Any) -> Timestamp:
    parsed = parse_date(_text(value))
    if parsed is None:
        raise EvaluationError(f"Invalid date formatted string {value}")
    return Timestamp(parsed)


def _to_timestamp(value: Any) -> Timestamp:
    parsed = parse_datetime(_text(value), local=True) if value else 0
    if parsed is None:
        raise EvaluationError(f"Invalid date-time formatted string {value}")
    return Timestamp(parsed)
