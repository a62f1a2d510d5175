"""Coercing metadata: `metadata` becomes what the typed ObjectMeta makes of it, and what does not fit is refused.

Custom kinds do not declare ObjectMeta; Kubernetes decodes it into its own type all the same. That drops unknown
fields and empty values and writes times in UTC. Embedded resources get the same treatment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kapstan.apiserver.schema.formats.times import to_seconds
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError, Path

__all__ = ("InvalidMetadata", "coerce_embedded", "decode_object_meta", "has_embedded")


class InvalidMetadata(ValueError):
    """A field of the metadata has the wrong type; the message is Go's."""


class _Type:
    """A Go type that a field of ObjectMeta has."""

    def __init__(self, name: str, *accepts: type, pointer: bool = False) -> None:
        self.name = name
        self.accepts = accepts
        self.pointer = pointer  # zero is told from absent


_TEXT = _Type("string", str)
_INT64 = _Type("int64", int)
_INT64_POINTER = _Type("int64", int, pointer=True)
_BOOL_POINTER = _Type("bool", bool, pointer=True)
_TIME = _Type("time", str, pointer=True)
_TEXT_MAP = _Type("map[string]string", dict)
_RAW = _Type("raw", dict, pointer=True)


class _List:
    def __init__(self, item: _FieldType, name: str) -> None:
        self.item = item
        self.name = name


class _Struct:
    def __init__(self, name: str, fields: Mapping[str, _FieldType], always: tuple[str, ...] = ()) -> None:
        self.name = name
        self.fields = fields
        self.always = always  # fields that are written even if empty


_FieldType: TypeAlias = "_Type | _List | _Struct"

_OWNER_REFERENCE = _Struct(
    "OwnerReference",
    {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "name": _TEXT,
        "uid": _Type("types.UID", str),
        "controller": _BOOL_POINTER,
        "blockOwnerDeletion": _BOOL_POINTER,
    },
    always=("apiVersion", "kind", "name", "uid"),
)
_MANAGED_FIELDS = _Struct(
    "ManagedFieldsEntry",
    {
        "manager": _TEXT,
        "operation": _Type("v1.ManagedFieldsOperationType", str),
        "apiVersion": _TEXT,
        "time": _TIME,
        "fieldsType": _TEXT,
        "fieldsV1": _RAW,
        "subresource": _TEXT,
    },
)
_OBJECT_META = _Struct(
    "ObjectMeta",
    {
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "selfLink": _TEXT,
        "uid": _Type("types.UID", str),
        "resourceVersion": _TEXT,
        "generation": _INT64,
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INT64_POINTER,
        "labels": _TEXT_MAP,
        "annotations": _TEXT_MAP,
        "ownerReferences": _List(_OWNER_REFERENCE, "[]v1.OwnerReference"),
        "finalizers": _List(_TEXT, "[]string"),
        "managedFields": _List(_MANAGED_FIELDS, "[]v1.ManagedFieldsEntry"),
    },
)
_JSON_KINDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def decode_object_meta(metadata: Any) -> tuple[dict[str, Any], list[str]]:
    """The metadata as ObjectMeta holds it, and the paths of unknown fields below it; InvalidMetadata otherwise."""
    unknown: list[str] = []
    if metadata is None:
        return {}, unknown
    if type(metadata) is not dict:
        kind = _JSON_KINDS[type(metadata)]
        raise InvalidMetadata(f"json: cannot unmarshal {kind} into Go value of type v1.ObjectMeta")
    return _decode_struct(metadata, _OBJECT_META, "", "", unknown), unknown


def _decode_struct(value: dict[str, Any], struct: _Struct, field: str, path: str, unknown: list[str]) -> dict[str, Any]:
    """`field` is how Go names the place in errors, without indexes; `path` is with them."""
    decoded: dict[str, Any] = dict.fromkeys(struct.always, "")
    for key, item in value.items():
        kind = struct.fields.get(key)
        here = f"{path}.{key}" if path else key
        if kind is None:
            unknown.append(here)
        elif item is not None:
            named = f"{field}.{key}" if field else key
            result = _decode(item, kind, struct.name, named, here, unknown)
            if result or (isinstance(kind, _Type) and kind.pointer) or key in struct.always:
                decoded[key] = result
    return decoded


def _decode(value: Any, kind: _FieldType, struct: str, field: str, path: str, unknown: list[str]) -> Any:
    if isinstance(kind, _List):
        if type(value) is not list:
            raise _mismatch(value, struct, field, kind.name)
        return [
            _decode(item, kind.item, struct, field, f"{path}[{position}]", unknown)
            for position, item in enumerate(value)
        ]
    if isinstance(kind, _Struct):
        if type(value) is not dict:
            raise _mismatch(value, struct, field, f"v1.{kind.name}")
        return _decode_struct(value, kind, field, path, unknown)
    if kind is _TIME:
        return _decode_time(value)
    if type(value) not in kind.accepts:
        if value is None:
            return kind.accepts[0]()
        raise _mismatch(value, struct, field, kind.name)
    if kind is _TEXT_MAP:
        return {key: _decode(item, _TEXT, struct, field, path, unknown) for key, item in value.items()}
    return value


def _decode_time(value: Any) -> str:
    if type(value) is not str:
        raise InvalidMetadata(f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into Go value of type string")
    try:
        return to_seconds(value)
    except ValueError as error:
        raise InvalidMetadata(str(error)) from None


def _mismatch(value: Any, struct: str, field: str, wanted: str) -> InvalidMetadata:
    kind = _JSON_KINDS[type(value)]
    if kind == "number" and wanted == "int64":
        kind = f"number {value}"
    return InvalidMetadata(f"json: cannot unmarshal {kind} into Go struct field {struct}.{field} of type {wanted}")


def has_embedded(schema: Schema) -> bool:
    """Whether resources are embedded anywhere below; most schemas need no second walk."""
    children = [*schema.properties.values(), schema.items, schema.additional]
    nodes = [child for child in children if isinstance(child, Schema)]
    return schema.embedded_resource or any(map(has_embedded, nodes))


def coerce_embedded(value: Any, schema: Schema, path: Path | None = None) -> tuple[FieldError | None, list[str]]:
    """Coerce the metadata of embedded resources in place.

    Returns the first thing that does not fit, if any, and the paths of unknown fields, sorted.
    """
    unknown: list[str] = []
    error = _coerce(value, schema, path or Path(), unknown)
    return error, sorted(unknown)


def _coerce(value: Any, schema: Schema | None, path: Path, unknown: list[str]) -> FieldError | None:
    if schema is None:
        return None
    if type(value) is list:
        for position, item in enumerate(value):
            if error := _coerce(item, schema.items, path.index(position), unknown):
                return error
    elif type(value) is dict:
        if schema.embedded_resource and (error := _coerce_resource(value, path, unknown)):
            return error
        for key, item in value.items():
            child = schema.property(key)
            below = path.child(key) if key in schema.properties else path.key(key)
            if error := _coerce(item, child, below, unknown):
                return error
    return None


def _coerce_resource(value: dict[str, Any], path: Path, unknown: list[str]) -> FieldError | None:
    for key in ("apiVersion", "kind"):
        if key in value and type(value[key]) is not str:
            return FieldError.invalid(path.child(key), value[key], "must be a string")
    if "metadata" in value:
        try:
            value["metadata"], paths = decode_object_meta(value["metadata"])
        except InvalidMetadata as error:
            return FieldError.invalid(path.child("metadata"), value["metadata"], str(error))
        unknown += (f"{path.child('metadata')}.{field}" for field in paths)
    return None
