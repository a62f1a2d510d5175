"""Optional values: `a.?b`, `m[?k]`, `or`, `orValue` and their like."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.library.standard import find_in_map
from kapstan.apiserver.schema.cel.values import (
    NONE,
    Duration,
    EvaluationError,
    ListValue,
    MapValue,
    Optional,
    Timestamp,
    Uint,
)

__all__ = ("OPTIONALS", "optional_index")

OPTIONALS = Library()
_add = OPTIONALS.add


def _of_non_zero(value: Any) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, bool | int | float | str | bytes | list | dict | ListValue | MapValue):
        return not value if not isinstance(value, ListValue | MapValue) else len(value) == 0
    if isinstance(value, Duration):
        return value.ns == 0
    if isinstance(value, Timestamp):
        return value.ns == -62_135_596_800 * 10**9
    return isinstance(value, Optional) and not value.present


def optional_index(container: Any, key: Any) -> Optional:
    """`container[?key]`; of an optional container, what it holds is asked."""
    if isinstance(container, Optional):
        return optional_index(container.value, key) if container.present else NONE
    if type(container) is list or isinstance(container, ListValue):
        is_position = type(key) in (int, Uint) and 0 <= key < len(container)
        return Optional(container[int(key)]) if is_position else NONE
    if type(container) is dict or isinstance(container, MapValue):
        found, value = find_in_map(container, key)
        return Optional(value) if found else NONE
    return NONE


def _unwrap(items: Any) -> list[Any]:
    values = []
    for item in items:
        if not isinstance(item, Optional):
            raise EvaluationError(f"value {item} is not optional")
        if item.present:
            values.append(item.value)
    return values


def _first(items: Any) -> Optional:
    return Optional(items[0]) if len(items) else NONE


def _last(items: Any) -> Optional:
    return Optional(items[len(items) - 1]) if len(items) else NONE


_add("optional_of", "optional.of(V) -> optional(V)", Optional, member=False)
_add("optional_ofNonZeroValue", "optional.ofNonZeroValue(V) -> optional(V)", _of_non_zero, member=False)
_add("optional_none", "optional.none() -> optional(V)", lambda: NONE, member=False)
_add("optional_value", "optional(V).value() -> V", Optional.get)
_add("optional_hasValue", "optional(V).hasValue() -> bool", lambda value: value.present)
_add("optional_or_optional", "optional(V).or(optional(V)) -> optional(V)", lambda a, b: a if a.present else b)
_add(
    "optional_orValue_value",
    "optional(V).orValue(V) -> V",
    lambda value, other: value.value if value.present else other,
)
_add("list_optindex_optional_int", "_[?_](list(V), int) -> optional(V)", optional_index, member=False)
_add(
    "optional_list_optindex_optional_int", "_[?_](optional(list(V)), int) -> optional(V)", optional_index, member=False
)
_add("map_optindex_optional_value", "_[?_](map(K, V), K) -> optional(V)", optional_index, member=False)
_add(
    "optional_map_optindex_optional_value", "_[?_](optional(map(K, V)), K) -> optional(V)", optional_index, member=False
)
_add("optional_list_index_int", "_[_](optional(list(V)), int) -> optional(V)", optional_index, member=False)
_add("optional_map_index_value", "_[_](optional(map(K, V)), K) -> optional(V)", optional_index, member=False)
_add("list_first", "list(V).first() -> optional(V)", _first)
_add("list_last", "list(V).last() -> optional(V)", _last)
_add("optional_unwrap", "optional.unwrap(list(optional(V))) -> list(V)", _unwrap, member=False)
_add("optional_unwrapOpt", "list(optional(V)).unwrapOpt() -> list(V)", _unwrap)
