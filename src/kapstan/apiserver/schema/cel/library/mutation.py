"""What mutations are written with: objects of any shape, the operations of a JSON patch, and its escaping of keys.

`Object{spec: Object.spec{replicas: 3}}` is an object as far as it is to be changed. Its type says where in the object
it stands, and says nothing of the fields there: whether they fit is seen when the object is merged.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.types import MessageType, Type
from kapstan.apiserver.schema.cel.values import (
    Duration,
    EvaluationError,
    ListValue,
    MapValue,
    Opaque,
    Optional,
    Timestamp,
    equal,
    type_of_value,
)

__all__ = ("JSON_PATCH", "MUTATION", "OBJECT", "MadeObject", "Operation", "misplaced", "native", "patch_type", "plain")

OBJECT, JSON_PATCH = "Object", "JSONPatch"

MUTATION = Library()
MUTATION.add(
    "string_jsonpatch_escapeKey_string",
    "jsonpatch.escapeKey(string) -> string",
    lambda text: text.replace("~", "~0").replace("/", "~1"),
    member=False,
)


class _AnyField(Mapping[str, Type]):
    """Fields of an object of which no schema is known: each may be anything."""

    def __getitem__(self, name: str) -> Type:
        return types.DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class MadeObject(Opaque):
    """An object that an expression made."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, cel_type: Type, fields: dict[str, Any]) -> None:
        self.cel_type = cel_type
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MadeObject) and self.cel_type == other.cel_type and equal(self.fields, other.fields)

    def __hash__(self) -> int:
        return hash(self.cel_type)


class Operation(Opaque):
    """One operation of a JSON patch that an expression made."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and equal(self.fields, other.fields)

    def __hash__(self) -> int:
        return hash(str(self.fields.get("path")))


def _operation(fields: dict[str, Any]) -> Operation:
    for name in ("op", "path", "from"):
        value = fields.get(name, "")
        if type(value) is not str:
            found = type_of_value(value).runtime_name
            raise EvaluationError(f"unexpected type {found} for JSONPatchType '{name}' field")
    return Operation(fields)


_PATCH_FIELDS = {"op": types.STRING, "from": types.STRING, "path": types.STRING, "value": types.DYN}
_OPERATION = MessageType(JSON_PATCH, _PATCH_FIELDS, _operation)
Operation.cel_type = _OPERATION


def patch_type(name: str) -> Type | None:
    """The type of an operation, of an object, or of a part of one: `Object.spec.template`."""
    if name == JSON_PATCH:
        return _OPERATION
    if name == OBJECT or name.startswith(f"{OBJECT}."):
        made = MessageType(name, _AnyField(), lambda fields: MadeObject(made, fields))
        return made
    return None


def misplaced(value: Any, path: str) -> Iterator[str]:
    """Objects whose type names another place than the one they stand at."""
    if isinstance(value, MadeObject):
        name = value.cel_type.name
        if name != path:
            yield (
                f'unexpected type name "{name}", expected "{path}", which matches field name path from root Object type'
            )
        for field, item in value.fields.items():
            yield from misplaced(item, f"{path}.{field}")
    elif isinstance(value, list | ListValue):
        for item in value:
            yield from misplaced(item, path)
    elif type(value) is dict:
        for item in value.values():
            yield from misplaced(item, path)


def native(value: Any) -> Any:
    """A value as JSON, in the forms that protobuf gives to what JSON does not have."""
    return _converted(value, _protobuf_json)


def plain(value: Any) -> Any:
    """A value as JSON; bytes, times and durations stay what they are."""
    return _converted(value, lambda leaf: leaf)


def _converted(value: Any, leaf: Callable[[Any], Any]) -> Any:
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, MadeObject):
        return {name: _converted(item, leaf) for name, item in value.fields.items()}
    if isinstance(value, list | ListValue):
        return [_converted(item, leaf) for item in value]
    if isinstance(value, dict | MapValue):
        return {_key(key): _converted(_item(value, key), leaf) for key in value}
    if isinstance(value, Optional):
        return _converted(value.value, leaf) if value.present else None
    if isinstance(value, bytes | Timestamp | Duration):
        return leaf(value)
    name = type_of_value(value).runtime_name
    raise EvaluationError(f"type conversion error from '{name}' to 'google.protobuf.Value'")


def _protobuf_json(value: bytes | Timestamp | Duration) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return _seconds(value.ns) if isinstance(value, Duration) else str(value)


def _seconds(ns: int) -> str:
    """`90s`, `1.500s`: with as many digits as are needed, by threes."""
    whole, rest = divmod(abs(ns), 10**9)
    digits = f"{rest:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{'-' if ns < 0 else ''}{whole}{'.' if digits else ''}{digits}s"


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    raise EvaluationError(f"map key {key} is of type {type_of_value(key).runtime_name}, not string")


def _item(mapping: dict[Any, Any] | MapValue, key: Any) -> Any:
    return mapping.find(key)[1] if isinstance(mapping, MapValue) else mapping[key]
