"""History: the latest events, bounded by count, size and age. Below its floor nothing is known any more."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec

from kapstan.apiserver.storage.interface import Event

__all__ = ("History", "HistoryLimits")

_revision = attrgetter("revision")


class HistoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept for watches that resume and lists that continue; whichever is reached first."""

    events: int = 20_000
    bytes: int = 64 << 20
    seconds: float = 600.0


class History:
    """Events in the order of their revisions."""

    def __init__(self, floor: int, limits: HistoryLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.floor = floor  # every event after this revision is here
        self.limits = limits
        self._clock = clock
        self._events: list[Event] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._events)

    def append(self, event: Event) -> None:
        self._events.append(event)
        self._bytes += len(event.record.value)

    @property
    def overfull(self) -> bool:
        """Whether it is time to trim: an eighth above the limits, since trimming event by event would cost more."""
        limits = self.limits
        return len(self._events) * 8 > limits.events * 9 or self._bytes * 8 > limits.bytes * 9

    def since(self, revision: int) -> Sequence[Event]:
        """The events after that revision, which must not be below the floor."""
        events = self._events
        if not events or events[-1].revision <= revision:
            return ()
        return events[bisect_right(events, revision, key=_revision) :]

    def trim(self) -> Sequence[Event]:
        """Forget what exceeds the limits, and tell what that was."""
        events, limits = self._events, self.limits
        oldest = self._clock() - limits.seconds
        end = max(0, len(events) - limits.events)
        size = self._bytes - sum(len(event.record.value) for event in events[:end])
        while end < len(events) and (size > limits.bytes or events[end].time < oldest):
            size -= len(events[end].record.value)
            end += 1
        trimmed = events[:end]
        if trimmed:
            self.floor = trimmed[-1].revision
            self._bytes = size
            del events[:end]
        return trimmed
