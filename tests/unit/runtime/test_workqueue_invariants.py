"""The work queue against a model of it that is too simple to be wrong, under any order of operations."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from kapstan.runtime.clock import FakeClock
from kapstan.runtime.ratelimiter import exponential
from kapstan.runtime.workqueue import Item, WorkQueue

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.sampled_from([-100, 0, 1, 50])
DELAYS = st.integers(1, 8)


class QueueMachine(RuleBasedStateMachine):
    """`ready` and `delayed` are plain lists, searched and sorted afresh at each step."""

    items = Bundle("items")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue: WorkQueue[str] = self.run(self.make())
        self.sequence = 0
        self.ready: dict[str, tuple[int, int]] = {}  # priority, position
        self.delayed: dict[str, tuple[float, int]] = {}
        self.running: set[str] = set()
        self.failures: dict[str, int] = {}

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(work)

    async def make(self) -> WorkQueue[str]:
        return WorkQueue(exponential(1, 4), clock=self.clock)

    def model_add(self, key: str, priority: int) -> None:
        waited = self.delayed.pop(key, None)
        if waited is not None:
            priority = max(priority, waited[1])
        if key not in self.ready or priority > self.ready[key][0]:
            self.sequence += 1
            self.ready[key] = (priority, self.sequence)

    def model_delay(self, key: str, priority: int, after: float) -> None:
        if key in self.ready:
            self.model_add(key, priority)
            return
        until, before = self.delayed.get(key, (float("inf"), priority))
        self.delayed[key] = (min(until, self.clock.time() + after), max(before, priority))

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.model_add(key, priority)

    @rule(key=KEYS, priority=PRIORITIES, after=DELAYS)
    def add_later(self, key: str, priority: int, after: int) -> None:
        self.queue.add(key, priority=priority, after=after)
        self.model_delay(key, priority, after)

    @rule(key=KEYS)
    def fail(self, key: str) -> None:
        self.queue.add_rate_limited(key)
        failures = self.failures[key] = self.failures.get(key, 0) + 1
        self.model_delay(key, 0, min(2.0 ** (failures - 1), 4))

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule(seconds=DELAYS)
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)
        due = sorted((until, key) for key, (until, _) in self.delayed.items() if until <= self.clock.time())
        for _, key in due:
            self.model_add(key, self.delayed.pop(key)[1])

    @precondition(lambda self: any(key not in self.running for key in self.ready))
    @rule(target=items)
    def get(self) -> Item[str]:
        item: Item[str] = self.run(self.queue.get())
        assert item.key not in self.running, "a key was handed out twice at once"
        free = {key: place for key, place in self.ready.items() if key not in self.running}
        best = max(priority for priority, _ in free.values())
        assert item.priority == best == self.ready[item.key][0]
        del self.ready[item.key]
        self.running.add(item.key)
        return item

    @rule(item=consumes(items))
    def done(self, item: Item[str]) -> None:
        item.done()
        self.running.remove(item.key)

    @invariant()
    def nothing_is_lost_and_nothing_is_doubled(self) -> None:
        assert len(self.queue) == sum(key not in self.running for key in self.ready)
        assert self.queue.waiting == len(self.delayed)
        assert len(self.queue.running()) == len(self.running)

    def teardown(self) -> None:
        """Whatever is left comes out by priority, and within one by age."""
        keys = []
        while len(self.queue):
            keys.append(self.run(self.queue.get()).key)
        priorities = [self.ready[key][0] for key in keys]
        assert priorities == sorted(priorities, reverse=True)


QueueMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestQueueInvariants = QueueMachine.TestCase


class FifoMachine(RuleBasedStateMachine):
    """Without work in progress the exact order is known: priority, then age in that priority."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = asyncio.run(self.make())
        self.expected: list[tuple[int, int, str]] = []
        self.sequence = 0

    async def make(self) -> WorkQueue[str]:
        return WorkQueue(clock=FakeClock())

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        known = next((entry for entry in self.expected if entry[2] == key), None)
        if known is None or priority > -known[0]:
            self.sequence += 1
            self.expected = [entry for entry in self.expected if entry is not known]
            self.expected.append((-priority, self.sequence, key))

    @precondition(lambda self: self.expected)
    @rule()
    def take(self) -> None:
        item = asyncio.run(self.queue.get())
        item.done()
        self.expected.sort()
        assert item.key == self.expected.pop(0)[2]


FifoMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestQueueOrder = FifoMachine.TestCase
