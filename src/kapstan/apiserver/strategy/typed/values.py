"""Values: how one JSON value becomes what Go holds, for every type that is not a struct.

A reader gets the value and the list to which paths of unknown fields are added, and returns the value in its one form.
ValueError says what is wrong with it.
"""

from __future__ import annotations

import base64
import binascii
import functools
import math
import re
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema.formats.times import SECOND, format_rfc3339, parse_rfc3339, to_seconds
from kapstan.apiserver.strategy.typed.mismatch import Mismatch
from kapstan.machinery.golang import quote
from kapstan.machinery.quantity import Quantity

__all__ = ("LEAVES", "Leaf", "Reader")

Reader = Callable[[Any, list[str]], Any]

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?P<micro>\.\d{6})?(?P<zone>(?:Z|[+-]\d\d:\d\d)$)?", re.ASCII)
_NEWLINES = re.compile(r"[\r\n]")
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_PADDING = ord("=")


def _text(value: Any, unknown: list[str]) -> str:
    if type(value) is not str:
        raise Mismatch(value, "string")
    return value


def _boolean(value: Any, unknown: list[str]) -> bool:
    if type(value) is not bool:
        raise Mismatch(value, "bool")
    return value


def _int32(value: Any, unknown: list[str]) -> int:
    if type(value) is not int or value not in _INT32:
        raise Mismatch(value, "int32")
    return value


def _int64(value: Any, unknown: list[str]) -> int:
    if type(value) is not int or value not in _INT64:
        raise Mismatch(value, "int64")
    return value


def _float64(value: Any, unknown: list[str]) -> int | float:
    if type(value) is int:
        return value
    if type(value) is not float:
        raise Mismatch(value, "float64")
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 1e21 else value


def _bytes(value: Any, unknown: list[str]) -> str:
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
        return base64.b64encode(bytes(value)).decode()  # Go reads bytes from a list of numbers, too
    if type(value) is not str:
        raise Mismatch(value, "[]uint8")
    try:
        return base64.b64encode(base64.b64decode(_NEWLINES.sub("", value), validate=True)).decode()
    except (binascii.Error, ValueError):
        raise ValueError(f"illegal base64 data at input byte {_illegal_byte(value.encode())}") from None


def _illegal_byte(data: bytes) -> int:
    """Where Go's decoder stops: at the first byte that does not belong, or where an incomplete group of four begins."""
    characters = [(position, char) for position, char in enumerate(data) if char not in b"\r\n"]
    for index, (position, char) in enumerate(characters):
        in_group = index % 4
        if char == _PADDING:
            if in_group < 2:
                return position
            rest = characters[index + 1 :]
            if in_group == 2 and (not rest or rest[0][1] != _PADDING):
                return position if rest else len(data)
            trailing = rest[1:] if in_group == 2 else rest
            return trailing[0][0] if trailing else len(data)
        if char not in _BASE64:
            return position
    return len(data) - len(characters) % 4


def _time(value: Any, unknown: list[str]) -> str:
    if type(value) is not str:
        raise Mismatch(value, "string")
    return to_seconds(value)


def _micro_time(value: Any, unknown: list[str]) -> str:
    if type(value) is not str:
        raise Mismatch(value, "string")
    match = _MICRO.match(value)
    if match is None or not match["micro"] or not match["zone"]:
        raise ValueError(_micro_complaint(value, match))
    moment = parse_rfc3339(value)
    return f"{format_rfc3339(moment // SECOND * SECOND)[:-1]}.{moment % SECOND // 1000:06d}Z"


def _micro_complaint(value: str, match: re.Match[str] | None) -> str:
    """Go reads by its layout, and says at which part of it the rest of the text does not fit."""
    try:
        parse_rfc3339(value)
    except ValueError as error:
        return str(error).replace(_LAYOUT, _MICRO_LAYOUT)
    assert match is not None
    rest, part = (value[match.end() :], "Z07:00") if match["micro"] else (value[19:], ".000000")
    return f"parsing time {quote(value)} as {quote(_MICRO_LAYOUT)}: cannot parse {quote(rest)} as {quote(part)}"


@functools.lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    try:
        return Quantity(text).canonical()
    except ValueError:
        raise ValueError(_QUANTITY_RULE) from None


def _quantity(value: Any, unknown: list[str]) -> str:
    """Numbers are read as they were written, which is how Go's decoder passes them on."""
    if type(value) is str:
        return _canonical(value)
    if type(value) is int or type(value) is float:
        return _canonical(repr(value))
    raise ValueError(_QUANTITY_RULE)


def _int_or_string(value: Any, unknown: list[str]) -> int | str:
    if type(value) is str:
        return value
    return _int32(value, unknown)


def _anything(value: Any, unknown: list[str]) -> Any:
    return value


class Leaf:
    """A type without fields: how it is read, and what Go holds where nothing was sent."""

    __slots__ = ("name", "read", "zero")

    def __init__(self, read: Reader, zero: Any, name: str) -> None:
        self.read = read
        self.zero = zero
        self.name = name  # as Go's messages call it


_META = "k8s.io/apimachinery/pkg/apis/meta/v1."

LEAVES: dict[str, Leaf] = {
    "string": Leaf(_text, "", "string"),
    "bool": Leaf(_boolean, False, "bool"),
    "int32": Leaf(_int32, 0, "int32"),
    "int64": Leaf(_int64, 0, "int64"),
    "float64": Leaf(_float64, 0, "float64"),
    "bytes": Leaf(_bytes, None, "[]uint8"),
    _META + "Time": Leaf(_time, None, "v1.Time"),
    _META + "MicroTime": Leaf(_micro_time, None, "v1.MicroTime"),
    _META + "FieldsV1": Leaf(_anything, None, "v1.FieldsV1"),
    "k8s.io/apimachinery/pkg/runtime.RawExtension": Leaf(_anything, None, "runtime.RawExtension"),
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": Leaf(_anything, None, "v1.JSON"),
    "k8s.io/apimachinery/pkg/api/resource.Quantity": Leaf(_quantity, "0", "resource.Quantity"),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": Leaf(_int_or_string, 0, "intstr.IntOrString"),
}
