"""Costs of evaluation: what bounds the time that an expression may take.

Units are cel-go's: a step is 1, texts cost a tenth of their length, lists and maps what they take to build. Straight
code is charged as a whole before it runs, branches that are not taken included; loops and large texts as they come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema.cel.ast import Call, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from kapstan.apiserver.schema.cel.pacing import current_pace
from kapstan.apiserver.schema.cel.values import EvaluationError, ListValue, MapValue, size_of

__all__ = ("AUTHORIZATION", "CostExceeded", "Meter", "call_charge", "static_cost")

_STRIDE = 2_000  # how far a meter runs before it tells its pace
_TRAVERSAL = 0.1
_REGEX = 0.25
AUTHORIZATION = 350_000


class CostExceeded(EvaluationError):
    """The evaluation took more than it may."""


class Meter:
    """Counts cost, and stops an evaluation at the limit. It pauses where whoever evaluates is unhurried."""

    __slots__ = ("_limit", "_mark", "_pace", "_told", "used")

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit
        self._pace = pace = current_pace()
        self._told = 0  # what the pace knows of
        self._mark = limit if pace is None else min(limit, _STRIDE)

    def charge(self, cost: int) -> None:
        self.used += cost
        if self.used > self._mark:
            self._pass_mark()

    def charge_elsewhere(self, cost: int) -> None:
        """What costs, but takes no time of ours."""
        self._told += cost
        self._mark = min(self._mark + cost, self._limit)
        self.charge(cost)

    def pause(self) -> None:
        """Let others have their turn, if it is time."""
        if self._pace is not None:
            cost, self._told = self.used - self._told, self.used
            self._pace.spend(cost)

    def end(self) -> None:
        """There is nothing more to charge for."""
        if self._pace is not None:
            self._pace.note(self.used - self._told)

    def _pass_mark(self) -> None:
        if self.used > self._limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")
        self._mark = min(self.used + _STRIDE, self._limit)
        self.pause()

    def charge_comparison(self, left: Any, right: Any) -> None:
        """What it costs to compare two values of any size."""
        if isinstance(left, str | bytes | list | dict | ListValue | MapValue):
            self.charge(traversal(min(size_of(left), size_of(right))))


def traversal(size: int, factor: float = 1) -> int:
    return math.ceil(size * factor * _TRAVERSAL)


def static_cost(expr: Expr) -> int:
    """What a node costs however large its values are."""
    match expr:
        case Ident():
            return 1 if expr.type_value is None else 0
        case Select():
            return 0 if expr.test_only else 1
        case Call():
            return 0 if expr.function in ("_?_:_", "_&&_", "_||_") else 1
        case ListExpr():
            return 10
        case MapExpr():
            return 30
        case StructExpr():
            return 40
    return 0


def _of_text(text: Any, *_: Any) -> int:
    return traversal(size_of(text))


def _of_text_twice(text: Any, *_: Any) -> int:
    return traversal(size_of(text), 2)


def _of_both(left: Any, right: Any, *_: Any) -> int:
    return traversal(size_of(left) + size_of(right))


def _of_product(text: Any, part: Any, *_: Any) -> int:
    return traversal(size_of(text)) * traversal(size_of(part))


def _of_regex(text: Any, pattern: Any, *_: Any) -> int:
    return traversal(1 + size_of(text)) * math.ceil(size_of(pattern) * _REGEX)


def _of_join(*args: Any) -> int:
    return traversal(size_of(args[-1]), 2)


def _of_items(items: Any, *_: Any) -> int:
    return _tree_size(items)


def _of_sort(items: Any, *_: Any) -> int:
    size = size_of(items)
    return size * max(1, math.ceil(math.log2(size + 1))) + 10


def _of_pairs(left: Any, right: Any, *_: Any) -> int:
    return size_of(left) * size_of(right)


def _tree_size(value: Any) -> int:
    """What it costs to visit all of a value."""
    if isinstance(value, str | bytes):
        return int(len(value) * _TRAVERSAL)
    if isinstance(value, list | ListValue):
        return sum(map(_tree_size, value))
    if isinstance(value, dict):
        return sum(_tree_size(key) + _tree_size(item) for key, item in value.items())
    if isinstance(value, MapValue):
        return sum(_tree_size(key) + _tree_size(value.find(key)[1]) for key in value)
    return 1


_CHARGES: dict[str, Callable[..., int]] = {
    "startsWith": _of_text,
    "endsWith": _of_text,
    "contains": _of_product,
    "matches": _of_regex,
    "find": _of_regex,
    "findAll": _of_regex,
    "isSorted": _of_items,
    "sum": _of_items,
    "min": _of_items,
    "max": _of_items,
    "indexOf": _of_items,
    "lastIndexOf": _of_items,
    "sort": _of_sort,
    "@sortByAssociatedKeys": _of_sort,
    "distinct": lambda items, *_: size_of(items) ** 2,
    "flatten": lambda *args: size_of(args[-1]),
    "slice": lambda *args: size_of(args[-1]),
    "reverse": lambda *args: size_of(args[-1]),
    "lists.range": lambda *args: size_of(args[-1]),
    "sets.contains": _of_pairs,
    "sets.intersects": _of_pairs,
    "sets.equivalent": _of_pairs,
    "replace": _of_text_twice,
    "split": _of_text_twice,
    "join": _of_join,
    "format": _of_text,
    "strings.quote": _of_text,
    "validate": lambda _, text, *__: traversal(1 + size_of(text)) * 32,
}
for _name in ("url", "isURL", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"):
    _CHARGES[_name] = _of_text
for _name in ("quantity", "isQuantity", "semver", "isSemver", "ip.isCanonical", "bytes", "string"):
    _CHARGES[_name] = _of_text


def call_charge(expr: Call) -> Callable[..., int] | None:
    """What a call costs by its arguments and its result; None if that is always the same."""
    if expr.function == "_+_" and any(overload.id in ("add_string", "add_bytes") for overload in expr.overloads):
        return _of_both
    return _CHARGES.get(expr.function)
