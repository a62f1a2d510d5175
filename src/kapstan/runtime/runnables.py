"""Runnables: what a manager runs besides servers and caches, each when its time has come, ended with patience.

A runnable is a controller, an object with `async def run()`, or an async function. With `stop()` it is asked to end
and may finish what it does; without, it is cancelled. One that raises ends the manager, which says so.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from kapstan.runtime.background import causes
from kapstan.runtime.controller import Controller
from kapstan.runtime.election import LeaseLost

__all__ = ("Runnable", "Runnables", "runnable_of")

log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
Stage: TypeAlias = Literal["always", "elected"]


class Runnable(Struct, frozen=True, kw_only=True, eq=False):
    """Something that runs while the manager does."""

    name: str
    run: Work
    stop: Callable[[], None] | None = None
    needs_leader_election: bool = True
    warm_up: Work | None = None  # what it may do before the election is won

    @property
    def stage(self) -> Stage:
        return "elected" if self.needs_leader_election else "always"


def runnable_of(thing: Any) -> Runnable:
    """Make a runnable of whatever can run; TypeError says what can."""
    if isinstance(thing, Runnable):
        return thing
    if isinstance(thing, Controller):
        return Runnable(
            name=f"controller {thing.name}",
            run=thing.run,
            stop=thing.stop,
            needs_leader_election=thing.options.needs_leader_election,
            warm_up=thing.watch if thing.options.warm_up else None,
        )
    elected = bool(getattr(thing, "needs_leader_election", True))
    if inspect.iscoroutinefunction(thing):
        return Runnable(name=thing.__qualname__, run=thing, needs_leader_election=elected)
    run = getattr(thing, "run", None)
    if inspect.iscoroutinefunction(run):
        name, stop = type(thing).__qualname__, getattr(thing, "stop", None)
        return Runnable(name=name, run=run, stop=stop, needs_leader_election=elected)
    raise TypeError(
        f"a manager cannot run {thing!r}: add a reconciler with @controller, a webhook, a cluster, "
        "an async function, or an object with `async def run()`"
    )


class Runnables:
    """Starts runnables when their stage opens, and ends them."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self._all: list[Runnable] = []
        self._tasks: dict[asyncio.Task[None], Runnable] = {}
        self._warming: list[asyncio.Task[None]] = []
        self._open: set[Stage] = set()
        self._always = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()
        self._impatient = False  # another leads already: nothing may finish

    def add(self, runnable: Runnable) -> None:
        """At any time; it starts when its stage is open."""
        self._all.append(runnable)
        if runnable.stage in self._open:
            self._start(runnable)
        elif self._open:
            self._warm_up(runnable)

    def open(self, stage: Stage) -> None:
        """Start what waits for this stage. What needs an election may warm up from the first stage on."""
        self._open.add(stage)
        if stage == "always":
            self._always.set()
        for runnable in list(self._all):
            if runnable.stage == stage:
                self._start(runnable)
            elif runnable.stage not in self._open:
                self._warm_up(runnable)

    async def wait_open(self) -> None:
        """Wait until the first stage is open."""
        await self._always.wait()

    def stop(self) -> None:
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self, opening: Work, timeout: float) -> None:
        """Run until `stop`, then end everything within `timeout`. `opening` opens the stages."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            opener = group.create_task(self._guarded("startup", opening), name="startup")
            await self._stopping.wait()
            self._group = None
            opener.cancel()
            await self._end(0 if self._impatient else timeout)

    def _start(self, runnable: Runnable) -> None:
        if self._group is not None:
            task = self._group.create_task(self._guarded(runnable.name, runnable.run), name=runnable.name)
            self._tasks[task] = runnable
            task.add_done_callback(lambda task: self._tasks.pop(task, None))

    def _warm_up(self, runnable: Runnable) -> None:
        if self._group is not None and runnable.warm_up is not None:
            warming = self._guarded(runnable.name, runnable.warm_up)
            self._warming.append(self._group.create_task(warming, name=f"{runnable.name} (warm-up)"))

    async def _guarded(self, name: str, work: Work) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the manager ends with it, but in order
            behind = causes(error)
            why = "; ".join(str(cause) or type(cause).__name__ for cause in behind)
            log.error("Stopping, for %s has failed: %s", name, why)  # noqa: TRY400 - raised by the manager
            self.failures.append(error)
            self._impatient = self._impatient or any(isinstance(cause, LeaseLost) for cause in behind)
            self.stop()

    async def _end(self, timeout: float) -> None:
        for task, runnable in list(self._tasks.items()):
            if runnable.stop is not None and timeout != 0:
                runnable.stop()
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=None if timeout < 0 else timeout)
        if self._tasks and timeout:
            late = ", ".join(runnable.name for runnable in self._tasks.values())
            log.warning("Cancelling what did not finish within %g s: %s", timeout, late)
        for task in (*self._tasks, *self._warming):
            task.cancel()
