"""Amounts: lists of resources by name, as quotas and pods write them, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kapstan.machinery.quantity import Quantity

__all__ = ("Amounts", "at_least_nothing", "largest", "listed", "only", "parsed", "total", "written")

Amounts = dict[str, Quantity]

_NOTHING = Quantity(0)


def parsed(texts: Mapping[str, str] | None) -> Amounts:
    return {name: Quantity(text) for name, text in (texts or {}).items()}


def written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: amount.canonical() for name, amount in amounts.items()}


def listed(amounts: Mapping[str, Quantity]) -> str:
    """As refusals show them: `cpu=2,pods=1`."""
    return ",".join(f"{name}={amounts[name].canonical()}" for name in sorted(amounts))


def only(amounts: Mapping[str, Quantity], names: Collection[str]) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name in names}


def total(lists: Iterable[Mapping[str, Quantity]]) -> Amounts:
    found: Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def largest(lists: Iterable[Mapping[str, Quantity]]) -> Amounts:
    found: Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            if name not in found or amount > found[name]:
                found[name] = amount
    return found


def at_least_nothing(new: Mapping[str, Quantity], old: Mapping[str, Quantity]) -> Amounts:
    """How much more the new amounts are; less is no more, and what is no more is left out."""
    more = {name: amount - old.get(name, _NOTHING) for name, amount in new.items()}
    return {name: amount for name, amount in more.items() if amount > 0}
