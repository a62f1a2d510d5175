"""Sizes and costs as ranges: what estimates are made of."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from kapstan.apiserver.schema.cel.ast import Expr, Literal
from kapstan.apiserver.schema.cel.types import Type

__all__ = ("MAX_UINT64", "ONE", "UNKNOWN", "ZERO", "Estimate", "Node", "Sizes", "fixed", "literal_integer")

MAX_UINT64 = 2**64 - 1


class Estimate(NamedTuple):
    """A range of sizes or costs. Nothing exceeds what 64 bits hold."""

    low: int
    high: int

    def plus(self, other: Estimate) -> Estimate:
        return Estimate(min(self.low + other.low, MAX_UINT64), min(self.high + other.high, MAX_UINT64))

    def times(self, other: Estimate) -> Estimate:
        return Estimate(min(self.low * other.low, MAX_UINT64), min(self.high * other.high, MAX_UINT64))

    def scaled(self, factor: float) -> Estimate:
        return Estimate(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Estimate) -> Estimate:
        return Estimate(min(self.low, other.low), max(self.high, other.high))


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return MAX_UINT64 if product >= 2.0**64 else math.ceil(product)


def fixed(number: int) -> Estimate:
    """A range of one number."""
    return Estimate(number, number)


ZERO = fixed(0)
ONE = fixed(1)
UNKNOWN = Estimate(0, MAX_UINT64)


class Node(NamedTuple):
    """An argument of a call: its type, where it comes from, how large it is as far as that follows from the text."""

    expr: Expr
    type: Type
    path: tuple[str, ...]
    size: Estimate | None


class Sizes(Protocol):
    """Who knows how large values are."""

    def path_size(self, path: tuple[str, ...]) -> Estimate | None:
        """The size that the schema allows at a path such as `self.ports.@items.name`."""

    def node_size(self, node: Node) -> Estimate:
        """The size of an argument, from the text or from the schema."""


def literal_integer(expr: Any) -> int | None:
    """The value of an integer that is written out."""
    return expr.value if isinstance(expr, Literal) and type(expr.value) is int else None
