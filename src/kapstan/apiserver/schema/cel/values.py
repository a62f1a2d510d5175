"""Values of expressions. Where Python has the same thing it is used: bool, int, float, str, bytes, list, dict, None.

Python calls 1, 1.0 and True equal; `equal` and `compare` know better. Evaluation errors are exceptions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.types import Type
from kapstan.apiserver.schema.formats.times import format_duration, format_rfc3339
from kapstan.apiserver.schema.numeric import INT64

__all__ = (
    "NONE",
    "Duration",
    "EvaluationError",
    "ListValue",
    "MapValue",
    "Opaque",
    "Optional",
    "Timestamp",
    "TypeValue",
    "Uint",
    "checked_int",
    "checked_uint",
    "compare",
    "equal",
    "no_such_overload",
    "size_of",
    "type_of_value",
)

MIN_TIMESTAMP = -62_135_596_800 * 10**9
MAX_TIMESTAMP = 253_402_300_799 * 10**9 + 999_999_999


class EvaluationError(Exception):
    """Evaluation failed; the message is cel-go's."""


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


class Opaque:
    """A value of a type that only its own functions understand."""

    __slots__ = ()

    cel_type: Type = types.DYN


class Duration(Opaque):
    """A span of time in nanoseconds."""

    __slots__ = ("ns",)

    cel_type = types.DURATION

    def __init__(self, ns: int) -> None:
        if ns not in INT64:
            raise EvaluationError("integer overflow")
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return type(other) is Duration and self.ns == other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __str__(self) -> str:
        return format_duration(self.ns)


class Timestamp(Opaque):
    """A point in time, in nanoseconds since 1970. Years 1 to 9999."""

    __slots__ = ("ns",)

    cel_type = types.TIMESTAMP

    def __init__(self, ns: int) -> None:
        if not MIN_TIMESTAMP <= ns <= MAX_TIMESTAMP:
            raise EvaluationError("timestamp overflow")
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return type(other) is Timestamp and self.ns == other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __str__(self) -> str:
        return format_rfc3339(self.ns)


class TypeValue(Opaque):
    """A type as a value; two are equal if they have the same name."""

    __slots__ = ("name",)

    cel_type = types.TYPE

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is TypeValue and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class Optional(Opaque):
    """A value that may be missing."""

    __slots__ = ("present", "value")

    cel_type = types.optional_of(types.DYN)

    def __init__(self, value: Any = None, present: bool = True) -> None:
        self.value = value
        self.present = present

    def get(self) -> Any:
        if not self.present:
            raise EvaluationError("optional.none() dereference")
        return self.value


NONE = Optional(present=False)


class ListValue(Opaque):
    """A list that is not Python's: it converts its items when they are read."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, position: int) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def equals(self, other: Any) -> bool:
        return len(self) == len(other) and all(map(equal, self, other))

    def plus(self, other: Any) -> Any:
        return [*self, *other]


class MapValue(Opaque):
    """A map that is not Python's: it converts its values when they are read."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def find(self, key: Any) -> tuple[bool, Any]:
        raise NotImplementedError

    def equals(self, other: Any) -> bool:
        raise NotImplementedError


_TYPES: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
}
_LIST, _MAP = _TYPES[list], _TYPES[dict]
_NUMBERS = frozenset((int, Uint, float))


def type_of_value(value: Any) -> Type:
    """The type of a value at run time, as far as it is known there."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, ListValue):
        return _LIST
    if isinstance(value, MapValue):
        return _MAP
    return value.cel_type if isinstance(value, Opaque) else types.DYN


def checked_int(number: int) -> int:
    if number not in INT64:
        raise EvaluationError("integer overflow")
    return number


def checked_uint(number: int) -> Uint:
    if not 0 <= number < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def equal(left: Any, right: Any) -> bool:
    """`==` for any two values: numbers compare across types, everything else only within its own."""
    kind, other = type(left), type(right)
    if kind is other and kind in (str, int, bool, bytes, float, Uint):
        return bool(left == right)
    if kind in _NUMBERS and other in _NUMBERS:
        return bool(left == right)
    if kind is list or isinstance(left, ListValue):
        return _equal_lists(left, right)
    if kind is dict or isinstance(left, MapValue):
        return _equal_maps(left, right)
    if kind is Optional and other is Optional:
        return left.present is right.present and (not left.present or equal(left.value, right.value))
    return kind is other and bool(left == right)


def _equal_lists(left: Any, right: Any) -> bool:
    if not (type(right) is list or isinstance(right, ListValue)):
        return False
    if isinstance(left, ListValue):
        return left.equals(right)
    return len(left) == len(right) and all(map(equal, left, right))


def _equal_maps(left: Any, right: Any) -> bool:
    if not (type(right) is dict or isinstance(right, MapValue)):
        return False
    if isinstance(left, MapValue):
        return left.equals(right)
    if isinstance(right, MapValue):
        return right.equals(left)
    return len(left) == len(right) and all(key in right and equal(item, right[key]) for key, item in left.items())


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; an error for values without an order between them."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        if (kind is float or other is float) and (math.isnan(left) or math.isnan(right)):
            raise EvaluationError("NaN values cannot be ordered")
        return _order(left, right)
    if kind is other and kind in (str, bytes, bool):
        if kind is str:
            left, right = left.encode(errors="surrogatepass"), right.encode(errors="surrogatepass")
        return _order(left, right)
    if kind is other and kind in (Duration, Timestamp):
        return _order(left.ns, right.ns)
    raise no_such_overload()


def _order(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def size_of(value: Any) -> int:
    """What `size()` gives; 1 for what has no size, as costs are counted."""
    if isinstance(value, str | bytes | list | dict | ListValue | MapValue):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return 1
