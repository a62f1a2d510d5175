"""OpenAPI v2 as protobuf: the form in which Go clients ask for it, of the messages of gnostic's `openapi.v2`.

What may be anything, such as an extension, is text in YAML there; JSON is YAML.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

__all__ = ("encode_swagger",)

Object = Mapping[str, Any]
Encoder = Callable[[Any], bytes]
Fields = Mapping[str, tuple[int, Callable[[int, Any], bytes]]]

_VARINT, _FIXED64, _LENGTH = 0, 1, 2


def encode_swagger(document: Object) -> bytes:
    """A whole document."""
    return b"".join(
        (
            _text(1, document["swagger"]),
            _message(2, _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])),
            _message(8, _named(2, document["paths"], _path)),
            _message(9, _named(1, document["definitions"], _schema)),
            _message(10, _named(1, document["parameters"], _parameter)),
            *(_message(12, _named(1, one, lambda scopes: _texts(1, scopes))) for one in document["security"]),
            _message(13, _named(1, document["securityDefinitions"], lambda one: _message(2, _api_key(one)))),
        )
    )


# The wire -------------------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _message(number: int, data: bytes) -> bytes:
    return _tag(number, _LENGTH) + _varint(len(data)) + data


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode()) if value else b""


def _texts(number: int, values: Sequence[str]) -> bytes:
    return b"".join(_message(number, value.encode()) for value in values)


def _whole(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + _varint(int(value)) if value else b""


def _double(number: int, value: float) -> bytes:
    return _tag(number, _FIXED64) + struct.pack("<d", value) if value else b""


def _any(number: int, value: Any) -> bytes:
    return _message(number, _text(2, msgspec.json.encode(value).decode() + "\n"))


def _named(number: int, values: Object, encode: Encoder) -> bytes:
    """A map, which these messages write as a list of pairs."""
    return b"".join(_message(number, _text(1, key) + _message(2, encode(value))) for key, value in values.items())


def _extensions(number: int, holder: Object) -> bytes:
    found = ((key, value) for key, value in holder.items() if key.startswith("x-"))
    return b"".join(_message(number, _text(1, key) + _any(2, value)) for key, value in found)


def _fields(holder: Object, encoders: Fields) -> bytes:
    found = ((encoders[key], value) for key, value in holder.items() if key in encoders)
    return b"".join(encode(number, value) for (number, encode), value in found)


# Paths ----------------------------------------------------------------------------------------------------------------

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_OPERATION: Fields = {
    "tags": (1, _texts),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "schemes": (10, _texts),
}
_BODY: Fields = {"description": (1, _text), "name": (2, _text), "in": (3, _text), "required": (4, _whole)}
_QUERY: Fields = {
    "required": (1, _whole),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _whole),
}
_IN_PATH: Fields = {
    **_QUERY,
    "type": (5, _text),
    "uniqueItems": (19, _whole),
}


def _path(item: Object) -> bytes:
    operations = (_message(_METHODS[key], _operation(value)) for key, value in item.items() if key in _METHODS)
    return b"".join(operations) + _parameters(9, item)


def _operation(operation: Object) -> bytes:
    responses = _named(1, operation["responses"], lambda one: _message(1, _response(one)))
    plain = _fields(operation, _OPERATION) + _parameters(8, operation)
    return plain + _message(9, responses) + _extensions(13, operation)


def _response(response: Object) -> bytes:
    schema = response.get("schema")
    described = _text(1, response.get("description", ""))
    return described if schema is None else described + _message(2, _message(1, _schema(schema)))


def _parameters(number: int, holder: Object) -> bytes:
    found = bytearray()
    for one in holder.get("parameters") or ():
        item = _message(2, _text(1, one["$ref"])) if "$ref" in one else _message(1, _parameter(one))
        found += _message(number, item)
    return bytes(found)


def _parameter(parameter: Object) -> bytes:
    where = parameter["in"]
    if where == "body":
        return _message(1, _fields(parameter, _BODY) + _message(5, _schema(parameter["schema"])))
    number, fields = (4, _IN_PATH) if where == "path" else (3, _QUERY)
    return _message(2, _message(number, _fields(parameter, fields)))


def _api_key(scheme: Object) -> bytes:
    return _fields(scheme, {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)})


# Schemas --------------------------------------------------------------------------------------------------------------


def _schema(schema: Object) -> bytes:
    return _fields(schema, _SCHEMA) + _extensions(31, schema)


def _types(number: int, value: str | Sequence[str]) -> bytes:
    return _message(number, _texts(1, [value] if isinstance(value, str) else value))


def _additional(number: int, value: Any) -> bytes:
    inner = _tag(2, _VARINT) + _varint(value) if isinstance(value, bool) else _message(1, _schema(value))
    return _message(number, inner)


_SCHEMA: Fields = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _whole),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _whole),
    "maxLength": (11, _whole),
    "minLength": (12, _whole),
    "pattern": (13, _text),
    "maxItems": (14, _whole),
    "minItems": (15, _whole),
    "uniqueItems": (16, _whole),
    "maxProperties": (17, _whole),
    "minProperties": (18, _whole),
    "required": (19, _texts),
    "enum": (20, lambda number, values: b"".join(_any(number, value) for value in values)),
    "additionalProperties": (21, _additional),
    "type": (22, _types),
    "items": (23, lambda number, value: _message(number, _message(1, _schema(value)))),
    "allOf": (24, lambda number, values: b"".join(_message(number, _schema(value)) for value in values)),
    "properties": (25, lambda number, values: _message(number, _named(1, values, _schema))),
    "example": (30, _any),
}
