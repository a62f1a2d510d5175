"""Containers: reading lists and maps whose elements some other reader reads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import ROUND_UP, Context, Decimal
from typing import Any

from kapstan.apiserver.strategy.typed.mismatch import Mismatch
from kapstan.apiserver.strategy.typed.values import LEAVES, Reader
from kapstan.machinery.quantity import Quantity

__all__ = ("prefix", "read_list", "read_map", "read_resource_list")

_MILLI = Decimal("0.001")
_EXACT = Context(prec=400)
_read_quantity = LEAVES["k8s.io/apimachinery/pkg/api/resource.Quantity"].read


def prefix(unknown: list[str], start: int, key: str) -> None:
    """Put a field or an index before the paths that were found below it."""
    for position in range(start, len(unknown)):
        path = unknown[position]
        unknown[position] = f"{key}{path}" if path.startswith("[") else f"{key}.{path}"


def read_list(read: Reader, name: str, zero: Callable[[], Any]) -> Reader:
    """`name` is the list's type in messages, `zero` what null means in it."""

    def read_items(value: Any, unknown: list[str]) -> list[Any] | None:
        if type(value) is not list:
            raise Mismatch(value, name)
        found = []
        for position, item in enumerate(value):
            known = len(unknown)
            found.append(zero() if item is None else read(item, unknown))
            if len(unknown) > known:
                prefix(unknown, known, f"[{position}]")
        return found

    return read_items


def read_map(read: Reader, name: str, zero: Callable[[], Any]) -> Reader:
    """`name` is the map's type in messages, `zero` what null means in it."""

    def read_values(value: Any, unknown: list[str]) -> dict[str, Any]:
        if type(value) is not dict:
            raise Mismatch(value, name)
        found: dict[str, Any] = {}
        for key, item in value.items():
            known = len(unknown)
            found[key] = zero() if item is None else read(item, unknown)
            if len(unknown) > known:
                prefix(unknown, known, key)
        return found

    return read_values


def read_resource_list(value: Any, unknown: list[str]) -> dict[str, str]:
    """Amounts of resources, of which nothing finer than a thousandth is counted."""
    if type(value) is not dict:
        raise Mismatch(value, "v1.ResourceList")
    return {
        key: "0" if amount is None else _whole_thousandths(_read_quantity(amount, unknown))
        for key, amount in value.items()
    }


@functools.lru_cache(maxsize=4096)
def _whole_thousandths(text: str) -> str:
    quantity = Quantity(text)
    rounded = quantity.value.quantize(_MILLI, ROUND_UP, _EXACT)
    return text if rounded == quantity.value else Quantity(rounded, quantity.format).canonical()
