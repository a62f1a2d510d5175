"""Controller: takes keys off a queue and has them reconciled, so many at a time.

What it keeps true: an error in one reconcile never harms another nor ends the controller; one key is never reconciled
twice at once; workers begin only when everything that is watched has been seen; and once it is stopped no reconcile
begins, while those that run may finish.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from kapstan.machinery.errors import Conflict, KapstanError
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.runtime import log as logs
from kapstan.runtime.controllermetrics import ControllerMetrics, ReconcileResult
from kapstan.runtime.declaration import ControllerOptions
from kapstan.runtime.metrics import Registry
from kapstan.runtime.reconcile import Outcome, TerminalError
from kapstan.runtime.source import KindSource, Source
from kapstan.runtime.workqueue import Item, WorkQueue

__all__ = ("Controller", "ReconcileFunction")

ReconcileFunction: TypeAlias = Callable[[ObjectKey], Awaitable[Outcome]]

log = logging.getLogger(__name__)

# Mistakes of the program rather than failures of the world: what Go would panic at.
BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RecursionError, TypeError)


class Controller:
    """A queue, its sources, and the workers that empty it."""

    def __init__(
        self,
        name: str,
        reconcile: ReconcileFunction,
        *,
        sources: Sequence[Source] = (),
        options: ControllerOptions | None = None,
        gvk: GroupVersionKind | None = None,
        metrics: Registry | None = None,
    ) -> None:
        self.name = name
        self.options = options or ControllerOptions()
        limiter = self.options.rate_limiter
        self.queue: WorkQueue[ObjectKey] = WorkQueue(limiter() if limiter else None, rest=self.options.rest)
        workers = self.options.max_concurrent_reconciles
        self.metrics = ControllerMetrics(metrics or Registry(), name, self.queue, workers)
        self._reconcile, self._sources = reconcile, list(sources)
        self._fields = {"controller": name}
        if gvk is not None:
            self._fields |= {"controllerGroup": gvk.group, "controllerKind": gvk.kind}
        self._unsynced = set(self._sources)
        self._synced = asyncio.Event()
        self._watching = False
        self._workers_left = 0  # that have not been started yet

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Watch and reconcile until `stop`; returns when the last reconcile is over."""
        with logs.fields(**self._fields):
            async with asyncio.TaskGroup() as group:
                watching = None if self._watching else group.create_task(self.watch(), name=f"{self.name} sources")
                await self._wait_synced()
                await self._run_workers()
                if watching is not None:
                    watching.cancel()

    async def watch(self) -> None:
        """Fill the queue until cancelled. `run` does so itself, unless a warm standby has begun before."""
        self._watching = True
        try:
            async with asyncio.TaskGroup() as group:
                for source in self._sources:
                    group.create_task(source.run(self.queue, partial(self._has_synced, source)))
                if not self._sources:
                    self._synced.set()
        finally:
            self._watching = False

    def stop(self) -> None:
        """Begin no further reconcile."""
        self.queue.shutdown()
        self._synced.set()

    @property
    def synced(self) -> bool:
        """Whether everything that is watched has been seen."""
        return not self._unsynced

    def _has_synced(self, source: Source) -> None:
        self._unsynced.discard(source)
        if not self._unsynced:
            self._synced.set()

    async def _wait_synced(self) -> None:
        """Wait for the sources: for a kind that is not served as long as it takes, else not for ever."""
        while True:
            try:
                async with asyncio.timeout(self.options.cache_sync_timeout):
                    await self._synced.wait()
                    return
            except TimeoutError:
                self._complain()

    def _complain(self) -> None:
        informers = [source.informer for source in self._unsynced if isinstance(source, KindSource)]
        late = [informer for informer in informers if not informer.absent]
        if late:
            kinds = "; ".join(f"{informer.gvk.kind}: {informer.trouble}" for informer in late)
            raise KapstanError(
                f"controller {self.name}: caches not synced within {self.options.cache_sync_timeout:g} s ({kinds})"
            )

    # --- Working ----------------------------------------------------------------------------------------------------

    async def _run_workers(self) -> None:
        count = self.options.max_concurrent_reconciles
        log.info("Starting workers", extra={"worker count": count})
        self._workers_left = count
        async with asyncio.TaskGroup() as group:
            self._start_worker(group)
        log.info("All workers finished")

    def _start_worker(self, group: asyncio.TaskGroup) -> None:
        self._workers_left -= 1
        group.create_task(self._work(group), name=f"{self.name} worker")

    async def _work(self, group: asyncio.TaskGroup) -> None:
        """Take one after another. Nearly all controllers are idle nearly always: who finds nobody else waiting for
        the next one has somebody wait for it, and so there are never many more workers than are needed."""
        async for item in self.queue:
            if self._workers_left and not self.queue.awaited:
                self._start_worker(group)
            await self._handle(item)
            await asyncio.sleep(0)  # a reconcile that only read caches has not let anybody else run

    async def _handle(self, item: Item[ObjectKey]) -> None:
        metrics = self.metrics
        metrics.active.value += 1
        began = asyncio.get_running_loop().time()
        try:
            with logs.fields(namespace=item.key.namespace, name=item.key.name, reconcileID=_new_id()):
                result = await self._attempt(item)
            metrics.results[result].value += 1
        finally:
            item.done()
            metrics.seconds.observe(asyncio.get_running_loop().time() - began)
            metrics.active.value -= 1

    async def _attempt(self, item: Item[ObjectKey]) -> ReconcileResult:
        limit = asyncio.timeout(self.options.reconcile_timeout)
        try:
            async with limit:
                outcome = await self._reconcile(item.key)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other objects must go on
            return self._timed_out(item) if limit.expired() else self._failed(item, error)
        return self._succeeded(item, outcome)

    def _timed_out(self, item: Item[ObjectKey]) -> ReconcileResult:
        self.metrics.timeouts.inc()
        return self._failed(item, TimeoutError(f"it took longer than {self.options.reconcile_timeout:g} s"))

    def _succeeded(self, item: Item[ObjectKey], outcome: Outcome) -> ReconcileResult:
        self.queue.forget(item.key)
        if outcome is None or not outcome.requeue_after:
            return "success"
        priority = item.priority if outcome.priority is None else outcome.priority
        self.queue.add(item.key, after=outcome.seconds, priority=priority)
        return "requeue_after"

    def _failed(self, item: Item[ObjectKey], error: Exception) -> ReconcileResult:
        self.metrics.errors.inc()
        if isinstance(error, BUGS):
            self.metrics.panics.inc()
        if isinstance(error, TerminalError):
            self.metrics.terminal_errors.inc()
            self.queue.forget(item.key)
            log.error("Reconciler error, not to be retried: %s", error)
            return "error"
        if isinstance(error, Conflict):
            log.info("The object has changed meanwhile, trying again: %s", error)
        elif isinstance(error, KapstanError | TimeoutError):
            log.error("Reconciler error: %s", error)
        else:
            log.error("Reconciler error", exc_info=error)
        self.queue.add_rate_limited(item.key, priority=item.priority)
        return "error"


def _new_id() -> str:
    """A random UUID that costs no system call: it tells log lines apart and keeps no secret."""
    return str(uuid.UUID(int=random.getrandbits(128), version=4))
