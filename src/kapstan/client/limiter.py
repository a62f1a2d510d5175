"""A limit on our own requests, for those who want one. API servers protect themselves, so it is off by default."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

__all__ = ("RateLimiter",)


class RateLimiter:
    """A bucket of `burst` tokens that fills at `qps` a second. A request takes one, or waits for it in turn."""

    def __init__(
        self,
        qps: float,
        burst: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(self._burst)
        self._filled = clock()

    async def take(self) -> None:
        now = self._clock()
        self._tokens = min(self._tokens + (now - self._filled) * self._qps, self._burst)
        self._filled = now
        self._tokens -= 1  # below zero: taken in advance, by those who wait
        if self._tokens < 0:
            await self._sleep(-self._tokens / self._qps)
