"""Lists: Kubernetes' own functions, the lists extension, sets, and what the two-variable macros need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.library.standard import is_in
from kapstan.apiserver.schema.cel.values import (
    Duration,
    EvaluationError,
    ListValue,
    checked_int,
    checked_uint,
    compare,
    equal,
    type_of_value,
)

__all__ = ("LISTS",)

LISTS = Library()
_add = LISTS.add
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _is_sorted(items: Any) -> bool:
    values = list(items)
    return all(compare(left, right) <= 0 for left, right in pairwise(values))


def _extreme(name: str, sign: int) -> Callable[[Any], Any]:
    def run(items: Any) -> Any:
        values = list(items)
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if compare(value, best) == sign:
                best = value
        return best

    return run


def _sum(kind: str) -> Callable[[Any], Any]:
    def run(items: Any) -> Any:
        match kind:
            case "int":
                return checked_int(sum(items))
            case "uint":
                return checked_uint(sum(map(int, items)))
            case "double":
                return sum(items, 0.0)
        return Duration(sum(item.ns for item in items))

    return run


def _index_of(items: Any, wanted: Any) -> int:
    return next((position for position, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: Any, wanted: Any) -> int:
    values = list(items)
    return next((at for at in range(len(values) - 1, -1, -1) if equal(values[at], wanted)), -1)


def _slice(items: Any, start: int, end: int) -> list[Any]:
    values = list(items)
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(items: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    result: list[Any] = []
    for item in items:
        nested = depth > 0 and isinstance(item, list | ListValue)
        result += _flatten(item, depth - 1) if nested else [item]
    return result


def _range(count: int) -> list[int]:
    if count > 1_000_000:  # more than an evaluation may cost
        raise EvaluationError("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def _distinct(items: Any) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in result):
            result.append(item)
    return result


def _sort_by_keys(items: Any, keys: Any) -> list[Any]:
    values, order = list(items), list(keys)
    if order and type_of_value(order[0]).kind not in _COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(order[0]) for key in order):
        raise EvaluationError("list elements must have the same type")
    pairs = zip(order, values, strict=True)
    return [value for _, value in sorted(pairs, key=cmp_to_key(_compare_keys))]


def _compare_keys(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
    return compare(left[0], right[0])


def _contains(items: Any, part: Any) -> bool:
    return all(is_in(item, items) for item in part)


def _intersects(left: Any, right: Any) -> bool:
    return any(is_in(item, right) for item in left)


def _insert(mapping: dict[Any, Any], key: Any, value: Any = None) -> dict[Any, Any]:
    raise EvaluationError("cel.@mapInsert is only for macros")


for _kind in _COMPARABLE:
    _add(f"list_{_kind}_is_sorted_bool", f"list({_kind}).isSorted() -> bool", _is_sorted)
    _add(f"list_{_kind}_max_{_kind}", f"list({_kind}).max() -> {_kind}", _extreme("max", 1))
    _add(f"list_{_kind}_min_{_kind}", f"list({_kind}).min() -> {_kind}", _extreme("min", -1))
    _add(f"list_{_kind}_sort", f"list({_kind}).sort() -> list({_kind})", lambda items: _sort_by_keys(items, items))
    _add(
        f"list_{_kind}_sortByAssociatedKeys", f"list(T).@sortByAssociatedKeys(list({_kind})) -> list(T)", _sort_by_keys
    )
for _kind in ("int", "uint", "double", "duration"):
    _add(f"list_{_kind}_sum_{_kind}", f"list({_kind}).sum() -> {_kind}", _sum(_kind))
_add("list_a_index_of_int", "list(A).indexOf(A) -> int", _index_of)
_add("list_a_last_index_of_int", "list(A).lastIndexOf(A) -> int", _last_index_of)
_add("list_slice", "list(T).slice(int, int) -> list(T)", _slice)
_add("list_flatten", "list(list(T)).flatten() -> list(T)", _flatten)
_add("list_flatten_int", "list(dyn).flatten(int) -> list(dyn)", _flatten)
_add("lists_range", "lists.range(int) -> list(int)", _range, member=False)
_add("list_reverse", "list(T).reverse() -> list(T)", lambda items: list(items)[::-1])
_add("list_distinct", "list(T).distinct() -> list(T)", _distinct)
_add("list_sets_contains_list", "sets.contains(list(T), list(T)) -> bool", _contains, member=False)
_add("list_sets_intersects_list", "sets.intersects(list(T), list(T)) -> bool", _intersects, member=False)
_add(
    "list_sets_equivalent_list",
    "sets.equivalent(list(T), list(T)) -> bool",
    lambda left, right: _contains(left, right) and _contains(right, left),
    member=False,
)
_add("@mapInsert_map_key_value", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)", _insert, member=False)
_add("@mapInsert_map_map", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", _insert, member=False)
