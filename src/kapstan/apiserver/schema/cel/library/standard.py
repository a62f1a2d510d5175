"""The standard functions and operators of CEL, with the comparisons of number types that Kubernetes allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.values import (
    Duration,
    EvaluationError,
    ListValue,
    MapValue,
    Timestamp,
    Uint,
    checked_int,
    checked_uint,
    compare,
    equal,
    no_such_overload,
    type_of_value,
)
from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp

__all__ = ("STANDARD", "find_in_map", "index", "is_in")

STANDARD = Library()
_add = STANDARD.add


def _operator(name: str, id: str, types: str, result: str, run: Callable[..., Any]) -> None:
    _add(id, f"{name}({types}) -> {result}", run, member=False)


# --- Logic: the evaluator runs these itself ------------------------------------------------------------------------


def _special(*_: Any) -> Any:
    raise no_such_overload()


_operator("_?_:_", "conditional", "bool, A, A", "A", _special)
_operator("_&&_", "logical_and", "bool, bool", "bool", _special)
_operator("_||_", "logical_or", "bool, bool", "bool", _special)
_operator("@not_strictly_false", "not_strictly_false", "bool", "bool", _special)


def _negate_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return not value


_operator("!_", "logical_not", "bool", "bool", _negate_bool)
_operator("_==_", "equals", "A, A", "bool", equal)
_operator("_!=_", "not_equals", "A, A", "bool", lambda left, right: not equal(left, right))

# --- Arithmetic ----------------------------------------------------------------------------------------------------


def _divide_int(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _divide_uint(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("division by zero")
    return Uint(left // right)


def _divide_double(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _modulo_int(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == -(2**63) and right == -1:
        raise EvaluationError("integer overflow")
    return (
        int(math.fmod(left, right))
        if abs(left) < 2**53 and abs(right) < 2**53
        else left - right * _truncated(left, right)
    )


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo_uint(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return Uint(left % right)


def add_lists(left: Any, right: Any) -> Any:
    if isinstance(left, ListValue):
        return left.plus(right)
    return [*left, *right]


_operator("_+_", "add_bytes", "bytes, bytes", "bytes", lambda left, right: left + right)
_operator("_+_", "add_double", "double, double", "double", lambda left, right: left + right)
_operator("_+_", "add_duration_duration", "duration, duration", "duration", lambda a, b: Duration(a.ns + b.ns))
_operator("_+_", "add_duration_timestamp", "duration, timestamp", "timestamp", lambda a, b: Timestamp(a.ns + b.ns))
_operator("_+_", "add_timestamp_duration", "timestamp, duration", "timestamp", lambda a, b: Timestamp(a.ns + b.ns))
_operator("_+_", "add_int64", "int, int", "int", lambda left, right: checked_int(left + right))
_operator("_+_", "add_list", "list(A), list(A)", "list(A)", add_lists)
_operator("_+_", "add_string", "string, string", "string", lambda left, right: left + right)
_operator("_+_", "add_uint64", "uint, uint", "uint", lambda left, right: checked_uint(int(left) + int(right)))
_operator("_/_", "divide_double", "double, double", "double", _divide_double)
_operator("_/_", "divide_int64", "int, int", "int", _divide_int)
_operator("_/_", "divide_uint64", "uint, uint", "uint", _divide_uint)
_operator("_%_", "modulo_int64", "int, int", "int", _modulo_int)
_operator("_%_", "modulo_uint64", "uint, uint", "uint", _modulo_uint)
_operator("_*_", "multiply_double", "double, double", "double", lambda left, right: left * right)
_operator("_*_", "multiply_int64", "int, int", "int", lambda left, right: checked_int(left * right))
_operator("_*_", "multiply_uint64", "uint, uint", "uint", lambda left, right: checked_uint(int(left) * int(right)))
_operator("-_", "negate_double", "double", "double", lambda value: -value)
_operator("-_", "negate_int64", "int", "int", lambda value: checked_int(-value))
_operator("_-_", "subtract_double", "double, double", "double", lambda left, right: left - right)
_operator("_-_", "subtract_duration_duration", "duration, duration", "duration", lambda a, b: Duration(a.ns - b.ns))
_operator("_-_", "subtract_int64", "int, int", "int", lambda left, right: checked_int(left - right))
_operator("_-_", "subtract_timestamp_duration", "timestamp, duration", "timestamp", lambda a, b: Timestamp(a.ns - b.ns))
_operator("_-_", "subtract_timestamp_timestamp", "timestamp, timestamp", "duration", lambda a, b: Duration(a.ns - b.ns))
_operator("_-_", "subtract_uint64", "uint, uint", "uint", lambda left, right: checked_uint(int(left) - int(right)))

# --- Order ---------------------------------------------------------------------------------------------------------

_ORDERED = (
    ("bool", "bool", "bool"),
    ("int64", "int", "int"),
    ("int64_double", "int", "double"),
    ("int64_uint64", "int", "uint"),
    ("uint64", "uint", "uint"),
    ("uint64_double", "uint", "double"),
    ("uint64_int64", "uint", "int"),
    ("double", "double", "double"),
    ("double_int64", "double", "int"),
    ("double_uint64", "double", "uint"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
)
_COMPARISONS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("_<_", "less", lambda left, right: compare(left, right) < 0),
    ("_<=_", "less_equals", lambda left, right: compare(left, right) <= 0),
    ("_>_", "greater", lambda left, right: compare(left, right) > 0),
    ("_>=_", "greater_equals", lambda left, right: compare(left, right) >= 0),
)
for _name, _word, _run in _COMPARISONS:
    for _id, _left, _right in _ORDERED:
        _operator(_name, f"{_word}_{_id}", f"{_left}, {_right}", "bool", _run)

# --- Collections ---------------------------------------------------------------------------------------------------


def find_in_map(mapping: Any, key: Any) -> tuple[bool, Any]:
    """Whether a map has a key, and its value."""
    if isinstance(mapping, MapValue):
        return mapping.find(key)
    if type(key) is float:
        key = int(key) if key.is_integer() else None
    if not isinstance(key, str | int):  # bool and uint included
        raise EvaluationError(f"unsupported key type: {type_of_value(key).runtime_name}")
    return (True, mapping[key]) if key in mapping else (False, None)


def _position(items: Any, key: Any) -> int | None:
    """A list index from a number; None if it is out of bounds."""
    if type(key) is float and key.is_integer():
        key = int(key)
    if type(key) not in (int, Uint):
        raise EvaluationError(f"unsupported index type '{type_of_value(key).runtime_name}' in list")
    return int(key) if 0 <= key < len(items) else None


def show_key(key: Any) -> str:
    """A key or index in an error."""
    if key is True or key is False:
        return "true" if key else "false"
    return str(key)


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    if type(container) is list or isinstance(container, ListValue):
        position = _position(container, key)
        if position is None:
            raise EvaluationError(f"index out of bounds: {show_key(key)}")
        return container[position]
    if type(container) is dict or isinstance(container, MapValue):
        found, value = find_in_map(container, key)
        if found:
            return value
        raise EvaluationError(f"no such key: {show_key(key)}")
    raise EvaluationError(f"no such key: {show_key(key)}")


def is_in(value: Any, container: Any) -> bool:
    """`value in container`."""
    if type(container) is list or isinstance(container, ListValue):
        return any(equal(value, item) for item in container)
    if type(container) is dict or isinstance(container, MapValue):
        return find_in_map(container, value)[0]
    raise no_such_overload()


_operator("_[_]", "index_list", "list(A), int", "A", index)
_operator("_[_]", "index_map", "map(A, B), A", "B", index)
_operator("@in", "in_list", "A, list(A)", "bool", is_in)
_operator("@in", "in_map", "A, map(A, B)", "bool", is_in)

for _kind, _id in (("bytes", "bytes"), ("list(A)", "list"), ("map(A, B)", "map"), ("string", "string")):
    _add(f"size_{_id}", f"size({_kind}) -> int", len, member=False)
    _add(f"{_id}_size", f"{_kind}.size() -> int", len)

# --- Strings -------------------------------------------------------------------------------------------------------


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern occurs in a text."""
    try:
        return compile_regexp(pattern).matches(text)
    except InvalidRegexp as error:
        raise EvaluationError(str(error)) from None


_add("contains_string", "string.contains(string) -> bool", lambda text, part: part in text)
_add("ends_with_string", "string.endsWith(string) -> bool", lambda text, part: text.endswith(part))
_add("starts_with_string", "string.startsWith(string) -> bool", lambda text, part: text.startswith(part))
_add("matches", "matches(string, string) -> bool", matches, member=False)
_add("matches_string", "string.matches(string) -> bool", matches)
