"""Clock: what queues need of time. LoopClock is the event loop's; FakeClock is one that a test advances itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Protocol

__all__ = ("Clock", "FakeClock", "LoopClock", "Timer")


class Timer(Protocol):
    """A call that has been scheduled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Monotonic time, and calls at a time: two methods that every event loop has."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], Any]) -> Timer: ...


class LoopClock:
    """The time of the event loop that runs when it is first asked: a queue may be made before there is one."""

    def time(self) -> float:
        self.time = asyncio.get_running_loop().time  # type: ignore[method-assign] # from now on without a detour
        return self.time()

    def call_at(self, when: float, callback: Callable[[], Any]) -> Timer:
        return asyncio.get_running_loop().call_at(when, callback)


class FakeClock:
    """Time that stands still until it is advanced; calls that become due are made then, in order."""

    def __init__(self, start: float = 0) -> None:
        self._now = start
        self._calls: list[tuple[float, int, _Call]] = []
        self._sequence = 0

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], Any]) -> Timer:
        call = _Call(callback)
        self._sequence += 1
        heappush(self._calls, (when, self._sequence, call))
        return call

    def advance(self, seconds: float) -> None:
        until = self._now + seconds
        while self._calls and self._calls[0][0] <= until:
            when, _, call = heappop(self._calls)
            self._now = max(self._now, when)
            call.run()
        self._now = until


class _Call:
    def __init__(self, callback: Callable[[], Any]) -> None:
        self._callback: Callable[[], Any] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def run(self) -> None:
        if self._callback is not None:
            self._callback()
