"""Sources that wake with patience: for those who only count.

A cluster's counters change with every step of every machine. Whoever merely counts need not look at each step: it is
woken a moment after the first change, and then sees them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kapstan.client.interface import Kind
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.change import Change
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.source import Queue
from kapstan.runtime.workqueue import LOW_PRIORITY

__all__ = ("Patient", "stretched")

_LONGEST_PACE = 0.5  # seconds


def stretched(patience: float, queue: Queue) -> float:
    """Seconds to wait for what can wait that long, and longer where looking takes long: a cluster of a thousand
    machines, or a thousand clusters at once. So it never takes more than a part of the time."""
    return patience * (1 + 20 * min(queue.pace, _LONGEST_PACE))


class Patient:
    """The objects of a kind, heard of after a while. `urgent` changes are heard of at once."""

    def __init__(
        self,
        informer: SharedInformer,
        kind: Kind[Any],
        handler: Callable[[Change], Iterable[ObjectKey]],
        *,
        patience: float,
        urgent: Callable[[Change], bool] = lambda change: False,
    ) -> None:
        self._informer, self._kind, self._handler = informer, kind, handler
        self._patience, self._urgent = patience, urgent

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        def hear(old: Any, new: Any, initial: bool) -> None:
            change = Change(self._kind, old, new, initial=initial)
            if change.unchanged and not initial:
                return
            after = 0 if initial or self._urgent(change) else stretched(self._patience, queue)
            for key in self._handler(change):
                queue.add(key, priority=LOW_PRIORITY if initial else 0, after=after)

        unlisten = self._informer.listen(hear)
        try:
            await self._informer.wait_synced()
            synced()
            await asyncio.Event().wait()
        finally:
            unlisten()
