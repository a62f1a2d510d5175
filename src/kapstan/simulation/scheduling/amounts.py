"""Amounts: what pods ask for and what nodes have, as whole numbers that are quick to compare.

CPU counts in thousandths, everything else in units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from kapstan.k8s.core_v1 import Container, PodSpec
from kapstan.machinery.quantity import Quantity

__all__ = ("Amounts", "amounts_of", "plus", "requests_of", "scored_requests")

Amounts: TypeAlias = dict[str, int]

# What a pod that asks for nothing is taken to use when nodes are compared: without it they would all look empty.
_TYPICAL = {"cpu": 100, "memory": 200 * 2**20}


def amounts_of(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: _whole(name, str(quantity)) for name, quantity in quantities.items()}


def plus(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def requests_of(spec: PodSpec) -> Amounts:
    """What a pod needs of a node: its containers together, or the largest of those that run before them."""
    together = _sum(_requests(one) for one in [*spec.containers, *filter(_is_sidecar, spec.init_containers)])
    for one in spec.init_containers:
        if not _is_sidecar(one):
            for name, amount in _requests(one).items():
                together[name] = max(together.get(name, 0), amount)
    if spec.overhead:
        together = plus(together, amounts_of(spec.overhead))
    together["pods"] = 1
    return together


def scored_requests(requests: Mapping[str, int]) -> Amounts:
    """The same for comparing nodes."""
    return {name: requests.get(name) or typical for name, typical in _TYPICAL.items()}


def _sum(parts: Iterable[Mapping[str, int]]) -> Amounts:
    whole: Amounts = {}
    for part in parts:
        whole = plus(whole, part)
    return whole


def _requests(container: Container) -> Amounts:
    return amounts_of(container.resources.requests) if container.resources is not None else {}


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


@lru_cache(maxsize=4096)
def _whole(name: str, text: str) -> int:
    quantity = Quantity(text)
    return quantity.milli() if name == "cpu" else int(quantity)
