"""Pacing: evaluations that take long take it in turns with everything else that the event loop has to do.

Work is tried at once, which is all that most of it needs. What costs more than a slice is begun anew in a thread of its
own. That thread and the event loop never run at the same time: each waits while the other has its turn, so what is
evaluated may use whatever the loop uses. Who is outside of `unhurried` is not paced.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

__all__ = ("SLICE", "Pace", "current_pace", "unhurried")

T = TypeVar("T")

SLICE = 25_000  # cost units; some ten to thirty milliseconds


class _TooLong(Exception):
    """Work needs more than one turn. Not for those who evaluate: they let it pass."""


class _Abandoned(Exception):
    """Nobody waits for the work any more."""


class Pace:
    """Counts what is spent in one turn, and ends the turn when that is a slice."""

    __slots__ = ("_pause", "_spent")

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._spent = 0

    def note(self, cost: int) -> None:
        self._spent += cost

    def spend(self, cost: int) -> None:
        """Note it, and pause if that was enough for one turn."""
        self._spent += cost
        if self._spent >= SLICE:
            self._spent = 0
            self._pause()


_PACE: ContextVar[Pace | None] = ContextVar("pace", default=None)

current_pace = _PACE.get


async def unhurried(work: Callable[[], T]) -> T:
    """Do work that evaluates expressions; others have their turns meanwhile. It may be begun twice."""
    token = _PACE.set(Pace(_give_up))
    try:
        return work()
    except _TooLong:
        pass
    finally:
        _PACE.reset(token)
    return await _Turns(work).take()


def _give_up() -> None:
    raise _TooLong


class _Turns(Generic[T]):
    """Work in a thread, which goes on only while the event loop waits for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._abandoned = False
        self._ours, self._theirs = threading.Semaphore(0), threading.Semaphore(0)  # whose turn it is
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="expression", daemon=True)

    async def take(self) -> T:
        self._thread.start()
        try:
            while True:
                if not self._next():
                    break
                await asyncio.sleep(0)
        finally:
            if self._thread.is_alive():
                self._abandoned = True
                self._next()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _next(self) -> bool:
        """Let the thread have one turn; whether it needs another."""
        self._theirs.release()
        self._ours.acquire()
        if self._error is None and not self._result:
            return True
        self._thread.join()
        return False

    def _run(self) -> None:
        self._theirs.acquire()
        _PACE.set(Pace(self._pause))
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            self._error = error
        finally:
            self._ours.release()

    def _pause(self) -> None:
        self._ours.release()
        self._theirs.acquire()
        if self._abandoned:
            raise _Abandoned
