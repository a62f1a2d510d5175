"""Work queue: the keys that need work, each at most once.

What it keeps true, whatever is added and in whichever order:
- a key waits at most once, however often it was added;
- a key is never worked on twice at the same time;
- a key that is added while it is being worked on is worked on again afterwards;
- higher priorities go first, and within a priority the earlier key; a second add raises the priority and shortens
  the delay of a key that waits, never the reverse.

It belongs to one event loop and takes no locks.

    async for item in queue:        # ends at shutdown
        async with item:            # an error is logged, and the key tried again later
            await work(item.key)
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Hashable
from heapq import heappop, heappush
from types import TracebackType
from typing import Generic, TypeVar

from kapstan.runtime.clock import Clock, LoopClock, Timer
from kapstan.runtime.metrics import Counter, Histogram
from kapstan.runtime.ratelimiter import RateLimiter, exponential

__all__ = ("LOW_PRIORITY", "Item", "QueueStats", "ShutDown", "WorkQueue")

K = TypeVar("K", bound=Hashable)

# Objects that were only listed, or did not change: fresh events overtake them.
LOW_PRIORITY = -100

_LONGEST_REST = 1.0  # seconds: work that waited for many answers took long, but not from anybody
_MOST_RESTING = 10_000  # keys that are remembered, most of them rested already

log = logging.getLogger(__name__)


class ShutDown(Exception):
    """The queue hands out nothing more."""


class QueueStats:
    """What a queue counts about itself."""

    __slots__ = ("adds", "queue_duration", "retries", "work_duration")

    def __init__(self) -> None:
        self.adds = Counter()
        self.retries = Counter()
        self.queue_duration = Histogram()
        self.work_duration = Histogram()


class Item(Generic[K]):
    """A key in the queue; once handed out, an obligation to call `done`, best by `async with`."""

    __slots__ = ("_queue", "key", "priority", "since")

    def __init__(self, queue: WorkQueue[K], key: K, priority: int, since: float) -> None:
        self._queue, self.key, self.priority = queue, key, priority
        self.since = since  # when it became ready, then when work on it began

    def done(self) -> None:
        """The work is over, well or not."""
        self._queue._done(self)

    async def __aenter__(self) -> Item[K]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Succeeded: back-off forgotten. Failed: logged, and tried again after its back-off. Cancelled: neither."""
        if error is None:
            self._queue.forget(self.key)
        elif isinstance(error, Exception):
            log.error("Working on %s failed, it will be tried again", self.key, exc_info=error)
            self._queue.add_rate_limited(self.key, priority=self.priority)
        self.done()
        return isinstance(error, Exception)


class WorkQueue(Generic[K]):
    """Keys to work on: deduplicated, prioritised, delayed, rate limited."""

    def __init__(self, limiter: RateLimiter | None = None, *, clock: Clock | None = None, rest: float = 0) -> None:
        """A key is left alone for `rest` times as long as work on it took, a second at most, however often
        it is added meanwhile."""
        self.stats = QueueStats()
        self._limiter = limiter or exponential()
        self._clock = clock or LoopClock()
        # A key is in at most one of `_ready` and `_again`, and in `_waiting` only if it is in neither.
        self._ready: dict[K, Item[K]] = {}
        self._processing: dict[K, Item[K]] = {}
        self._again: dict[K, int] = {}  # added while being worked on: its priority
        self._waiting: dict[K, tuple[float, int]] = {}  # until when, and its priority
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._priorities: list[int] = []  # descending, parallel to `_buckets`
        self._buckets: list[deque[Item[K]]] = []
        self._stale = 0  # items in buckets whose priority was raised since: a newer item stands for their key
        self._getters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._drained = asyncio.Event()
        self._pace = 0.0
        self._rest = rest
        self._resting: dict[K, float] = {}  # until when

    # --- Adding ---------------------------------------------------------------------------------------------------

    def add(self, key: K, *, priority: int = 0, after: float = 0) -> None:
        """Have the key worked on, now or `after` seconds. Nothing happens once the queue is shut down."""
        if self._closed:
            return
        if key in self._resting:
            after = max(after, self._resting[key] - self._clock.time())
        if after > 0 and key not in self._ready and key not in self._again:
            self._wait(key, priority, self._clock.time() + after)
            return
        if self._waiting:
            waited = self._waiting.pop(key, None)
            if waited is not None and waited[1] > priority:
                priority = waited[1]
        self._add_now(key, priority)

    def add_rate_limited(self, key: K, *, priority: int = 0) -> None:
        """Have the key worked on again after its back-off."""
        if self._closed:
            return
        self.stats.retries.value += 1
        self.add(key, priority=priority, after=self._limiter.when(key))

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts with the shortest back-off."""
        self._limiter.forget(key)

    def retries(self, key: K) -> int:
        """How often the key failed since it last succeeded."""
        return self._limiter.retries(key)

    def _add_now(self, key: K, priority: int) -> None:
        ready = self._ready.get(key)
        if ready is not None:
            if priority > ready.priority:
                self._stale += 1
                self._push(key, priority, ready.since)
                if self._stale > len(self._ready) + 1000:
                    self._compact()
            return
        if key in self._processing:
            self._again[key] = max(priority, self._again.get(key, priority))
            return
        self.stats.adds.value += 1
        self._push(key, priority, self._clock.time())

    def _push(self, key: K, priority: int, since: float) -> None:
        item = self._ready[key] = Item(self, key, priority, since)
        priorities = self._priorities
        if priorities and priorities[0] == priority:
            self._buckets[0].append(item)
        else:
            self._bucket(priority).append(item)
        if self._getters:
            self._wake_one()

    def _bucket(self, priority: int) -> deque[Item[K]]:
        for index, existing in enumerate(self._priorities):
            if existing == priority:
                return self._buckets[index]
            if existing < priority:
                break
        else:
            index = len(self._priorities)
        self._priorities.insert(index, priority)
        self._buckets.insert(index, deque())
        return self._buckets[index]

    def _compact(self) -> None:
        """Drop items whose key was raised to another bucket; a starved bucket would otherwise collect them."""
        ready = self._ready
        self._buckets = [deque(item for item in bucket if ready.get(item.key) is item) for bucket in self._buckets]
        self._stale = 0

    # --- Delays ---------------------------------------------------------------------------------------------------

    def _wait(self, key: K, priority: int, until: float) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            priority = max(priority, waiting[1])
            if waiting[0] <= until:
                self._waiting[key] = (waiting[0], priority)
                return
        self._waiting[key] = (until, priority)
        self._sequence += 1
        heappush(self._heap, (until, self._sequence, key))
        self._arm()

    def _arm(self) -> None:
        """Have `_release` called when the first delay is over."""
        if not self._heap:
            return
        first = self._heap[0][0]
        if self._timer is not None:
            if self._timer_at <= first:
                return
            self._timer.cancel()
        self._timer_at = first
        self._timer = self._clock.call_at(first, self._release)

    def _release(self) -> None:
        self._timer = None
        now = self._clock.time()
        # A loop fires timers within its clock's resolution, so up to that much early: what it fired for is due.
        now = max(now, self._timer_at)
        while self._heap and self._heap[0][0] <= now:
            until, _, key = heappop(self._heap)
            waiting = self._waiting.get(key)
            if waiting is not None and waiting[0] == until:
                del self._waiting[key]
                if self._resting.get(key, now) > now:  # it was worked on while it waited
                    self._wait(key, waiting[1], self._resting[key])
                else:
                    self._add_now(key, waiting[1])
        self._arm()

    # --- Taking ---------------------------------------------------------------------------------------------------

    async def get(self) -> Item[K]:
        """The next item, waiting until there is one; ShutDown once there will be none."""
        while True:
            if self._closed:
                raise ShutDown
            if self._ready:
                return self._take()
            await self._something_ready()

    def __aiter__(self) -> AsyncIterator[Item[K]]:
        return self

    async def __anext__(self) -> Item[K]:
        try:
            return await self.get()
        except ShutDown:
            raise StopAsyncIteration from None

    def _take(self) -> Item[K]:
        ready = self._ready
        for bucket in self._buckets:
            while bucket:
                item = bucket.popleft()
                if ready.get(item.key) is item:
                    del ready[item.key]
                    now = self._clock.time()
                    self.stats.queue_duration.observe(now - item.since)
                    item.since = now
                    self._processing[item.key] = item
                    return item
                self._stale -= 1
        raise AssertionError("a ready key is in no bucket")

    async def _something_ready(self) -> None:
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except BaseException:
            if getter.done() and not getter.cancelled():
                self._wake_one()  # it was woken and goes away: somebody else must take the item
            elif getter in self._getters:  # it is not if somebody was woken, or all were, since it was cancelled
                self._getters.remove(getter)
            raise

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _done(self, item: Item[K]) -> None:
        key = item.key
        if self._processing.get(key) is not item:
            return
        del self._processing[key]
        now = self._clock.time()
        took = now - item.since
        self.stats.work_duration.observe(took)
        self._pace += (took - self._pace) / 8
        if self._rest and not self._closed:
            self._let_rest(key, now, now + min(self._rest * took, _LONGEST_REST))
        if self._again:
            again = self._again.pop(key, None)
            if again is not None and not self._closed:
                if key in self._resting:
                    self._wait(key, again, self._resting[key])
                else:
                    self._add_now(key, again)
        if self._closed and not self._processing:
            self._drained.set()

    def _let_rest(self, key: K, now: float, until: float) -> None:
        if len(self._resting) >= _MOST_RESTING:
            self._resting = {known: end for known, end in self._resting.items() if end > now}
        self._resting[key] = until

    # --- Ending ---------------------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Hand out nothing more and drop what waits; what is being worked on may finish."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for collection in (self._ready, self._waiting, self._again, self._heap, self._buckets, self._priorities):
            collection.clear()
        self._resting.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()
        if not self._processing:
            self._drained.set()

    async def drain(self) -> None:
        """Shut down and wait until nothing is being worked on any more."""
        self.shutdown()
        await self._drained.wait()

    @property
    def closed(self) -> bool:
        return self._closed

    # --- Looking --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many keys are ready; neither those that wait for their time nor those being worked on."""
        return len(self._ready)

    def depth(self) -> dict[int, int]:
        """How many keys are ready, by priority."""
        depth: dict[int, int] = {}
        for item in self._ready.values():
            depth[item.priority] = depth.get(item.priority, 0) + 1
        return depth

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for the next key."""
        return bool(self._getters)

    @property
    def waiting(self) -> int:
        """How many keys wait for their time."""
        return len(self._waiting)

    @property
    def pace(self) -> float:
        """How many seconds work on a key takes of late: because there is much to do for it, or much going on."""
        return self._pace

    def running(self) -> list[float]:
        """For how many seconds each key that is being worked on has been."""
        now = self._clock.time()
        return [now - item.since for item in self._processing.values()]
