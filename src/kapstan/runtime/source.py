"""Sources: what fills a controller's queue. Kinds by way of informers, channels, timers, or anything with `run`."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeAlias

from kapstan.client.interface import Kind
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.model import Resource
from kapstan.runtime.backoff import Backoff
from kapstan.runtime.change import Change
from kapstan.runtime.handler import AsyncHandler, Handler
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.predicate import PredicateFunction
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.workqueue import LOW_PRIORITY, WorkQueue

__all__ = ("Channel", "KindSource", "Source", "Timer", "every")

Queue: TypeAlias = WorkQueue[ObjectKey]

log = logging.getLogger(__name__)


class Source(Protocol):
    """Runs beside a controller and adds keys to its queue."""

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        """Add keys until cancelled; call `synced` when what was there at the start is in the queue."""


class KindSource:
    """The objects of a kind, through the informer that everybody shares."""

    def __init__(
        self,
        informer: SharedInformer,
        kind: Kind[Any],
        handler: Handler | AsyncHandler,
        when: Iterable[PredicateFunction] = (),
    ) -> None:
        self.informer = informer
        self._kind, self._handler, self._when = kind, handler, tuple(when)

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        mapper = _Mapper(self._handler, queue) if inspect.iscoroutinefunction(self._handler) else None

        def hear(old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
            change = Change(self._kind, old, new, initial=initial)
            if not all(passes(change) for passes in self._when):
                return
            if mapper is not None:
                mapper.put(change)
            else:
                _add(queue, change, self._handler(change))  # type: ignore[arg-type]

        unlisten = self.informer.listen(hear)
        try:
            await self.informer.wait_synced()
            if mapper is not None:
                await mapper.run(synced)
            synced()
            await asyncio.Event().wait()
        finally:
            unlisten()


class _Mapper:
    """Asks an async handler about one change after the other. One that fails is asked again later."""

    def __init__(self, handler: AsyncHandler, queue: Queue) -> None:
        self._handler, self._queue = handler, queue
        self._changes: asyncio.Queue[tuple[Change, Backoff]] = asyncio.Queue()

    def put(self, change: Change) -> None:
        self._changes.put_nowait((change, Backoff()))

    async def run(self, synced: Callable[[], None]) -> None:
        for _ in range(self._changes.qsize()):  # what was there at the start
            await self._next()
        synced()
        while True:
            await self._next()

    async def _next(self) -> None:
        change, backoff = await self._changes.get()
        try:
            keys = await self._handler(change)
        except Exception:
            wait = backoff.next()
            log.exception("Mapping %s failed, trying again in %.1f s", change.key, wait)
            asyncio.get_running_loop().call_later(wait, self._changes.put_nowait, (change, backoff))
        else:
            _add(self._queue, change, keys)


class Channel:
    """Lets anybody wake a controller: `channel.send(ObjectKey("default", "sample"))`, from any thread."""

    def __init__(self) -> None:
        self._early: list[tuple[ObjectKey, int]] = []
        self._queue: Queue | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def send(self, target: ObjectKey | Resource, *, priority: int = 0) -> None:
        """Have an object reconciled. What is sent before the controller runs is not lost."""
        key = target.key if isinstance(target, Resource) else target
        if self._queue is None or self._loop is None:
            self._early.append((key, priority))
        else:
            self._loop.call_soon_threadsafe(partial(self._queue.add, key, priority=priority))

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        self._queue, self._loop = queue, asyncio.get_running_loop()
        early, self._early = self._early, []
        for key, priority in early:
            queue.add(key, priority=priority)
        synced()
        try:
            await asyncio.Event().wait()
        finally:
            self._queue = self._loop = None


class Timer:
    """Asks a function at intervals which objects to reconcile."""

    def __init__(
        self, seconds: float, keys: Callable[[], Iterable[ObjectKey] | Awaitable[Iterable[ObjectKey]]]
    ) -> None:
        self._seconds, self._keys = seconds, keys

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        synced()
        while True:
            await asyncio.sleep(self._seconds)
            try:
                found = self._keys()
                keys = await found if isinstance(found, Awaitable) else found
            except Exception:
                log.exception("A timer's function failed; it is asked again in %g s", self._seconds)
                continue
            for key in keys:
                queue.add(key)


def every(seconds: float, keys: Callable[[], Iterable[ObjectKey] | Awaitable[Iterable[ObjectKey]]]) -> Timer:
    """A source that has the objects which a function names reconciled at intervals."""
    return Timer(seconds, keys)


def _add(queue: Queue, change: Change, keys: Iterable[ObjectKey]) -> None:
    priority = LOW_PRIORITY if change.unchanged else 0
    for key in keys:
        queue.add(key, priority=priority)
