"""Delta queue: what reflectors have seen and the store does not know yet.

It lets the network run ahead of the handlers by a bounded number of objects, and hands out of several states of one
object that wait only the latest: whoever reads the store never needed the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Set

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.snapshot import Snapshot

__all__ = ("Delta", "DeltaQueue", "Replaced")

# How many deltas wait before reflectors have to, and how many are handled before other tasks get a turn.
CAPACITY = 512
BATCH = 64


class Delta:
    """An object exists in this state, or is gone and this was its last."""

    __slots__ = ("gone", "initial", "snapshot")

    def __init__(self, snapshot: Snapshot, *, gone: bool = False, initial: bool = False) -> None:
        self.snapshot, self.gone = snapshot, gone
        self.initial = initial  # it was there before anybody looked


class Replaced:
    """Everything in a namespace (or where it is empty, everywhere) has been told: what was not seen does not exist."""

    __slots__ = ("namespace", "resource_version", "seen")

    def __init__(self, namespace: str, seen: Set[ObjectKey], resource_version: str) -> None:
        self.namespace, self.seen, self.resource_version = namespace, seen, resource_version


class DeltaQueue:
    """Deltas in order, one of each object. Many reflectors put, one informer takes."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._deltas: deque[Delta | Replaced] = deque()
        self._waiting: dict[ObjectKey, Delta] = {}
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, delta: Delta | Replaced) -> None:
        """Add what was seen; an older state of the same object that still waits is forgotten."""
        if isinstance(delta, Replaced):
            # What comes later must not overtake it: an object that came after the list is not in what it has seen.
            self._waiting.clear()
        else:
            waiting = self._waiting.get(delta.snapshot.key)
            if waiting is not None:
                waiting.snapshot, waiting.gone = delta.snapshot, delta.gone
                waiting.initial = waiting.initial and delta.initial
                return
            self._waiting[delta.snapshot.key] = delta
        self._deltas.append(delta)
        self._filled.set()
        if len(self._deltas) >= self._capacity:
            self._room.clear()

    async def room(self) -> None:
        """Wait until there is room for more."""
        if not self._room.is_set():
            await self._room.wait()

    async def take(self) -> list[Delta | Replaced]:
        """The next few deltas, waiting until there are some."""
        await self._filled.wait()
        count = min(BATCH, len(self._deltas))
        deltas = [self._deltas.popleft() for _ in range(count)]
        for delta in deltas:
            if isinstance(delta, Delta) and self._waiting.get(delta.snapshot.key) is delta:
                del self._waiting[delta.snapshot.key]
        if not self._deltas:
            self._filled.clear()
        if len(self._deltas) < self._capacity:
            self._room.set()
        return deltas

    def __len__(self) -> int:
        return len(self._deltas)
