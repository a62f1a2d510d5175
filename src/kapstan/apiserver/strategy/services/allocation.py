"""Allocation: which cluster addresses and node ports are taken in a cluster.

Stored services say what is taken. What was given out for a service that is not stored yet is reserved for a while, so
that two services which are written at the same time do not get the same.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from kapstan.apiserver.storage.interface import Event, Storage
from kapstan.machinery.gvk import GroupResource

__all__ = ("NODE_PORTS", "SERVICE_NETWORK", "Allocations", "allocations", "node_ports_of")

SERVICES = GroupResource("", "services")
SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
NODE_PORTS = range(30_000, 32_768)

_RESERVED_SECONDS = 10.0
_MIN_STATIC, _MAX_STATIC = 16, 256  # how many addresses are left for those who choose their own
_ATTEMPTS = 64

Object = dict[str, Any]


class Allocations:
    """What is taken in one cluster."""

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self.network = SERVICE_NETWORK  # where addresses are taken from
        self._clock = clock
        self._owners: dict[Hashable, str] = {}  # address or port → key of the service that has it
        self._taken_by: dict[str, set[Hashable]] = {}
        self._reserved: dict[Hashable, tuple[str, float]] = {}
        for record in storage.list(SERVICES):
            self._take(record.key, msgspec.json.decode(record.value))
        storage.observe(self._follow, SERVICES)

    def is_free(self, item: Hashable, key: str) -> bool:
        """Whether a service may have an address or port: nobody else does."""
        if self._owners.get(item, key) != key:
            return False
        reserved = self._reserved.get(item)
        return reserved is None or reserved[0] == key or reserved[1] < self._clock()

    def reserve(self, item: Hashable, key: str) -> None:
        """Keep an address or port for a service that is about to be written."""
        now = self._clock()
        self._reserved = {kept: entry for kept, entry in self._reserved.items() if entry[1] >= now}
        self._reserved[item] = (key, now + _RESERVED_SECONDS)

    def next_address(self, key: str) -> str | None:
        """A free address, from the part of the network that is not left for those who choose; None if it is full."""
        size = self.network.num_addresses
        static = min(max(_MIN_STATIC, size // 16), _MAX_STATIC) if size > _MIN_STATIC else 0
        candidates = (str(self.network[static + secrets.randbelow(size - 1 - static)]) for _ in range(_ATTEMPTS))
        everything = (str(self.network[index]) for index in range(1, size - 1))
        return next(
            (address for part in (candidates, everything) for address in part if self.is_free(address, key)), None
        )

    def next_port(self, key: str) -> int | None:
        """A free node port; None if all are taken."""
        start = secrets.randbelow(len(NODE_PORTS))
        rotated = (NODE_PORTS[(start + offset) % len(NODE_PORTS)] for offset in range(len(NODE_PORTS)))
        return next((port for port in rotated if self.is_free(port, key)), None)

    def _follow(self, event: Event) -> None:
        key = event.record.key
        for item in self._taken_by.pop(key, ()):
            self._owners.pop(item, None)
        if event.type != "DELETED":
            self._take(key, msgspec.json.decode(event.record.value))

    def _take(self, key: str, service: Object) -> None:
        spec = service["spec"]
        items: set[Hashable] = {address for address in spec.get("clusterIPs") or () if address != "None"}
        items |= node_ports_of(spec)
        if spec.get("healthCheckNodePort"):
            items.add(spec["healthCheckNodePort"])
        self._taken_by[key] = items
        for item in items:
            self._owners[item] = key
            self._reserved.pop(item, None)


def node_ports_of(spec: Object) -> set[Hashable]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


_by_storage: WeakKeyDictionary[Storage, Allocations] = WeakKeyDictionary()


def allocations(storage: Storage) -> Allocations:
    """What is taken in the cluster with this storage, followed from the first time it is asked for."""
    found = _by_storage.get(storage)
    if found is None:
        found = _by_storage[storage] = Allocations(storage)
    return found
