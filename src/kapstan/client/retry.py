"""When to ask again: bounded in number and in time, with waits that differ from client to client.

A lost connection is tried again at once and then ever more slowly. A server that asks to wait (429 or 503 with
Retry-After) is obeyed. What may have been carried out already is repeated only where repeating changes nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from kapstan.client.failures import Failure
from kapstan.machinery.errors import Conflict

__all__ = ("Retries", "RetryPolicy", "retry_on_conflict")

T = TypeVar("T")

_NOT_CARRIED_OUT = (429, 503)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How patient we are."""

    lost: int = 4  # how often a request is repeated after a lost connection
    waits: int = 10  # how often we wait because the server asks for it
    first: float = 0.1  # seconds before the second repetition after a loss; doubles from there
    longest: float = 60.0  # seconds that we wait in all, for one request


class Retries:
    """The repetitions of one request."""

    __slots__ = ("_lost", "_policy", "_waited", "_waits")

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._lost = 0
        self._waits = 0
        self._waited = 0.0

    def after_failure(self, failure: Failure, *, idempotent: bool) -> float | None:
        """How long to wait before asking again; None: give up."""
        if not failure.transient or (failure.sent and not idempotent) or self._lost >= self._policy.lost:
            return None
        delay = self._policy.first * 2.0 ** (self._lost - 1) if self._lost else 0.0
        self._lost += 1
        return self._within_budget(delay * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load, hides nothing

    def after_refusal(self, status: int, retry_after: str | None, *, idempotent: bool) -> float | None:
        """How long the server wants us to wait before asking again; None: that was its answer."""
        asked = _seconds(retry_after)
        if asked is None or self._waits >= self._policy.waits:
            return None
        if status not in _NOT_CARRIED_OUT and not (status >= 500 and idempotent):
            return None
        self._waits += 1
        return self._within_budget(asked * random.uniform(1.0, 1.2))  # noqa: S311

    def _within_budget(self, delay: float) -> float | None:
        self._waited += delay
        return delay if self._waited <= self._policy.longest else None


async def retry_on_conflict(
    change: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Run `change` again while it ends in Conflict. It must read what it changes each time anew.

        await retry_on_conflict(increment)

    where `increment` gets the object and edits it with `optimistic_lock=True`.
    """
    for attempt in range(1, attempts):
        try:
            return await change()
        except Conflict:
            longest = min(0.01 * 2.0**attempt, 1.0)
            await sleep(random.uniform(0.0, longest))  # noqa: S311 - those who collided must not collide again
    return await change()


def _seconds(retry_after: str | None) -> float | None:
    """Kubernetes always sends whole seconds, never a date."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else None
