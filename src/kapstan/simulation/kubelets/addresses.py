"""Addresses: a range for each node, an address of it for each pod; none is given twice."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, ip_network

__all__ = ("PodAddresses", "Ranges")

_BITS = 24


class Ranges:
    """The ranges of a cluster's nodes: the next free one of a large range."""

    def __init__(self, whole: str = "10.128.0.0/9") -> None:
        self._free = IPv4Network(whole).subnets(new_prefix=_BITS)
        self._taken: set[str] = set()

    def note(self, taken: Iterable[str]) -> None:
        """These are somebody's."""
        self._taken.update(taken)

    def take(self) -> str:
        """One that is nobody's; ValueError when all are taken."""
        for candidate in self._free:
            if str(candidate) not in self._taken:
                self._taken.add(str(candidate))
                return str(candidate)
        raise ValueError("no range of pod addresses is left for another simulated node")


class PodAddresses:
    """The addresses of one node's pods."""

    def __init__(self, cidr: str) -> None:
        network = ip_network(cidr)
        self._first, self._count = int(network.network_address) + 1, max(1, network.num_addresses - 2)
        self._by_pod: dict[str, int] = {}
        self._taken: set[int] = set()
        self._next = 0

    def of(self, uid: str, known: str | None = None) -> str:
        """The pod's address: the one that it has, or a free one. ValueError when the range is full."""
        number = self._by_pod.get(uid)
        if number is None:
            number = int(IPv4Address(known)) if known else self._find()
            self._by_pod[uid] = number
            self._taken.add(number)
        return str(IPv4Address(number))

    def release(self, uid: str) -> None:
        number = self._by_pod.pop(uid, None)
        if number is not None:
            self._taken.discard(number)

    def _find(self) -> int:
        for _ in range(self._count):
            number = self._first + self._next
            self._next = (self._next + 1) % self._count
            if number not in self._taken:
                return number
        raise ValueError("every pod address of the simulated node is taken")
