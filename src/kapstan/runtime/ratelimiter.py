"""Rate limiters: how long a failing key waits until it is tried again.

They compose: `max_of(exponential(), bucket(10, 100))`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Protocol

__all__ = ("Bucket", "Exponential", "MaxOf", "RateLimiter", "bucket", "exponential", "max_of")


class RateLimiter(Protocol):
    """Says when a key may be tried again, and forgets what it knows once the key has succeeded."""

    def when(self, key: Hashable) -> float:
        """Seconds to wait; each call counts as one more failure."""

    def forget(self, key: Hashable) -> None: ...

    def retries(self, key: Hashable) -> int:
        """How many failures there were since the last success."""


class Exponential:
    """Twice as long after each failure of the key."""

    def __init__(self, base: float, maximum: float) -> None:
        if not 0 < base <= maximum:
            raise ValueError(f"exponential back-off needs 0 < base <= maximum, got base {base} and maximum {maximum}")
        self._base, self._maximum = base, maximum
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # 2.0 ** 1024 overflows; long before that the maximum is reached.
        return min(self._base * 2.0 ** min(failures, 64), self._maximum)

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class Bucket:
    """So many a second over all keys together, after a burst."""

    def __init__(self, rate: float, burst: int, time: Callable[[], float] = time.monotonic) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a token bucket needs a rate above 0 and a burst of at least 1, got {rate} and {burst}")
        self._rate, self._burst, self._time = rate, burst, time
        self._tokens, self._at = float(burst), time()

    def when(self, key: Hashable) -> float:
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def take(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self) -> None:
        now = self._time()
        self._tokens = min(float(self._burst), self._tokens + (now - self._at) * self._rate)
        self._at = now

    def forget(self, key: Hashable) -> None:
        """A bucket knows no keys."""

    def retries(self, key: Hashable) -> int:
        return 0


class MaxOf:
    """The longest of several waits."""

    def __init__(self, limiters: tuple[RateLimiter, ...]) -> None:
        if not limiters:
            raise ValueError("max_of needs at least one rate limiter")
        self._limiters = limiters

    def when(self, key: Hashable) -> float:
        return max(limiter.when(key) for limiter in self._limiters)

    def forget(self, key: Hashable) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: Hashable) -> int:
        return max(limiter.retries(key) for limiter in self._limiters)


def exponential(base: float = 0.005, maximum: float = 1000) -> RateLimiter:
    """Per key: `base` seconds after the first failure, twice as long after each further one, up to `maximum`."""
    return Exponential(base, maximum)


def bucket(rate: float, burst: int) -> RateLimiter:
    """Over all keys: `burst` at once, then `rate` a second."""
    return Bucket(rate, burst)


def max_of(*limiters: RateLimiter) -> RateLimiter:
    """Wait as long as the strictest of these says."""
    return MaxOf(limiters)
