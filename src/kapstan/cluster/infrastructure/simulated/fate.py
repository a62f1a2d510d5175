"""Fate: what chance has in store for an object. It follows from the object's uid alone.

So it is the same after a restart of the manager, nothing needs to be remembered, and a test can foretell it.
"""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b

from kapstan.cluster.api.infrastructure.simulatedmachine import Failure
from kapstan.cluster.api.infrastructure.timing import Timing

__all__ = ("chance", "duration", "happens")

_SCALE = 2**64


def chance(uid: str, what: str) -> float:
    """A number from 0 up to 1, without 1: another for each object and each thing that may happen to it."""
    digest = blake2b(f"{uid}/{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / _SCALE


def duration(timing: Timing | None, uid: str, what: str) -> timedelta:
    """How long a step takes for this object."""
    if timing is None:
        return timedelta()
    deviation = (timing.jitter_percent or 0) / 100 * (2 * chance(uid, what) - 1)
    return timedelta(seconds=(timing.delay_seconds or 0) * (1 + deviation))


def happens(failure: Failure, uid: str) -> bool:
    """Whether the object is one of those that a failure happens to."""
    percent = 100 if failure.percent is None else failure.percent
    return chance(uid, failure.type) * 100 < percent
