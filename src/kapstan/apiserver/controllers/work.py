"""WorkQueue: keys to be looked at, each once however often it was added, by a task that lives while there are any.

An idle queue costs no task. What fails is tried again, later each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from kapstan.machinery.errors import Conflict

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("WorkQueue",)

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

_FIRST_DELAY = 0.05
_MAX_DELAY = 60.0


class WorkQueue(Generic[K]):
    """Work for one controller of one cluster. There are a dozen in each, most of them idle: they are kept small."""

    __slots__ = (
        "_closed",
        "_cluster",
        "_failures",
        "_idle",
        "_name",
        "_reconcile",
        "_running",
        "_timers",
        "_waiting",
    )

    def __init__(self, cluster: LogicalCluster, name: str, reconcile: Callable[[K], Awaitable[None]]) -> None:
        self._cluster = cluster
        self._name = name
        self._reconcile = reconcile
        self._waiting: dict[K, None] = {}
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._running = False
        self._closed = False
        self._idle: asyncio.Event | None = None  # while somebody waits for it

    def add(self, key: K) -> None:
        """Have a key looked at soon."""
        if self._closed:
            return
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._waiting[key] = None
        if not self._running:
            self._running = True
            self._cluster.spawn(self._run())

    def add_after(self, key: K, delay: float) -> None:
        """Have a key looked at after some seconds, unless it is due earlier anyway."""
        if not self._closed and key not in self._timers and key not in self._waiting:
            self._timers[key] = asyncio.get_running_loop().call_later(max(delay, 0.0), self.add, key)

    async def idle(self) -> None:
        """Return when nothing is left to do now."""
        if self._running:
            if self._idle is None:
                self._idle = asyncio.Event()
            await self._idle.wait()

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def _run(self) -> None:
        try:
            while self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                await self._attempt(key)
        finally:
            self._running = False
            if self._idle is not None:
                self._idle.set()
                self._idle = None

    async def _attempt(self, key: K) -> None:
        try:
            await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 - one bad key must not stop the others
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(_FIRST_DELAY * 2.0 ** (failures - 1), _MAX_DELAY)
            # Somebody else was faster: that is no news.
            level = logging.DEBUG if isinstance(error, Conflict) else logging.WARNING
            logger.log(level, "%s: %s: %s; trying again in %.2f s", self._name, key, error, delay)
            self.add_after(key, delay)
        else:
            self._failures.pop(key, None)
