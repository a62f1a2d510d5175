"""The work queue, case by case."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kapstan.runtime.clock import FakeClock
from kapstan.runtime.workqueue import LOW_PRIORITY, ShutDown, WorkQueue


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def queue(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock=clock)


async def taken(queue: WorkQueue[str]) -> list[str]:
    """Everything that is ready, worked on and done."""
    keys = []
    while len(queue):
        item = await queue.get()
        keys.append(item.key)
        item.done()
    return keys


async def test_a_key_added_thrice_is_handed_out_once(queue: WorkQueue[str]) -> None:
    for _ in range(3):
        queue.add("a")
    assert await taken(queue) == ["a"]


async def test_keys_come_in_the_order_in_which_they_were_added(queue: WorkQueue[str]) -> None:
    for key in "cab":
        queue.add(key)
    assert await taken(queue) == ["c", "a", "b"]


async def test_fresh_events_overtake_the_initial_list(queue: WorkQueue[str]) -> None:
    for key in "abc":
        queue.add(key, priority=LOW_PRIORITY)
    queue.add("fresh")
    assert await taken(queue) == ["fresh", "a", "b", "c"]


async def test_a_second_add_raises_the_priority_but_never_lowers_it(queue: WorkQueue[str]) -> None:
    queue.add("a", priority=LOW_PRIORITY)
    queue.add("b")
    queue.add("a", priority=1)
    queue.add("a", priority=LOW_PRIORITY)
    assert queue.depth() == {0: 1, 1: 1}
    assert await taken(queue) == ["a", "b"]


async def test_a_key_added_while_worked_on_runs_again_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a")
    assert len(queue) == 0
    item.done()
    assert await taken(queue) == ["a"]


async def test_a_key_is_never_worked_on_twice_at_once(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a", priority=5)
    queue.add("b")
    other = await queue.get()
    assert other.key == "b"
    item.done()
    again = await queue.get()
    assert (again.key, again.priority) == ("a", 5)


async def test_a_delayed_key_waits(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a", after=10)
    clock.advance(9.99)
    assert len(queue) == 0 and queue.waiting == 1
    clock.advance(0.01)
    assert await taken(queue) == ["a"]


async def test_the_shorter_delay_and_the_higher_priority_win(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a", after=10, priority=7)
    queue.add("a", after=5, priority=1)
    queue.add("a", after=20)
    clock.advance(5)
    item = await queue.get()
    assert item.priority == 7
    item.done()
    clock.advance(100)
    assert len(queue) == 0


async def test_adding_without_delay_ends_the_wait(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a", after=10, priority=3)
    queue.add("a")
    assert queue.depth() == {3: 1}
    assert await taken(queue) == ["a"]
    clock.advance(100)
    assert len(queue) == 0


async def test_a_delay_on_a_ready_key_does_not_postpone_it(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a", after=10)
    assert await taken(queue) == ["a"] and queue.waiting == 0


async def test_an_earlier_delay_is_not_missed_behind_a_later_one(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("late", after=100)
    queue.add("early", after=1)
    clock.advance(1)
    assert await taken(queue) == ["early"]
    clock.advance(99)
    assert await taken(queue) == ["late"]


async def test_a_delay_that_ends_while_the_key_is_worked_on_makes_it_run_again(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a", after=1)
    clock.advance(1)
    assert len(queue) == 0
    item.done()
    assert await taken(queue) == ["a"]


async def test_a_failing_key_backs_off_and_a_success_forgets(queue: WorkQueue[str], clock: FakeClock) -> None:
    waits = []
    for _ in range(3):
        queue.add_rate_limited("a")
        start = clock.time()
        while not len(queue):
            clock.advance(0.001)
        waits.append(round(clock.time() - start, 3))
        await taken(queue)
    assert waits == [0.005, 0.01, 0.02]
    assert queue.retries("a") == 3
    queue.forget("a")
    assert queue.retries("a") == 0


async def test_an_error_inside_an_item_is_logged_and_retried(
    queue: WorkQueue[str], clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    queue.add("a", priority=4)
    with caplog.at_level(logging.ERROR):
        async with await queue.get():
            raise ValueError("no such thing")
    assert "Working on a failed" in caplog.text and "no such thing" in caplog.text
    clock.advance(0.005)
    item = await queue.get()
    assert item.priority == 4
    async with item:
        pass
    assert queue.retries("a") == 0


async def test_a_cancelled_item_is_done_but_not_retried(queue: WorkQueue[str]) -> None:
    queue.add("a")
    with pytest.raises(asyncio.CancelledError):
        async with await queue.get():
            raise asyncio.CancelledError
    assert queue.running() == [] and queue.waiting == 0 and len(queue) == 0


async def test_workers_wait_and_each_key_wakes_one(queue: WorkQueue[str]) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(0)
        for key in "abc":
            queue.add(key)
    assert sorted(task.result().key for task in tasks) == ["a", "b", "c"]


async def test_a_worker_that_is_cancelled_before_a_key_comes_ends_quietly(queue: WorkQueue[str]) -> None:
    """What wakes the others passes over it, before it has had its turn to leave."""
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    worker.cancel()
    queue.add("a")
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert (await queue.get()).key == "a"


async def test_a_worker_cancelled_as_it_is_woken_loses_no_key(queue: WorkQueue[str]) -> None:
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    item = await second
    assert item.key == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_shutdown_ends_the_iteration_and_takes_nothing_more(queue: WorkQueue[str], clock: FakeClock) -> None:
    seen = []

    async def work() -> None:
        async for item in queue:
            async with item:
                seen.append(item.key)

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        queue.add("a")
        queue.add("b", after=1)
        await asyncio.sleep(0)
        queue.shutdown()
        queue.add("c")
        clock.advance(1)
    assert seen == ["a"] and len(queue) == 0
    with pytest.raises(ShutDown):
        await queue.get()


async def test_drain_waits_for_what_is_being_worked_on(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a")
    draining = asyncio.ensure_future(queue.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    item.done()
    await draining
    assert len(queue) == 0


async def test_done_twice_does_no_harm(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    item.done()
    queue.add("a")
    second = await queue.get()
    item.done()
    queue.add("a")
    assert len(queue) == 0, "the first item's second done() must not end the second item's work"
    second.done()
    assert len(queue) == 1


async def test_a_starved_priority_collects_no_garbage(queue: WorkQueue[str]) -> None:
    """A key raised out of a bucket that is never served must not stay there for ever."""
    queue.add("starved", priority=-1)
    for number in range(10_000):
        queue.add(f"k{number}", priority=-1)
        queue.add(f"k{number}")
        (await queue.get()).done()
    assert sum(map(len, queue._buckets)) < 3000
    assert await taken(queue) == ["starved"]


async def test_durations_and_counts_are_kept(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.add("a")
    clock.advance(2)
    item = await queue.get()
    clock.advance(3)
    assert queue.running() == [3]
    item.done()
    assert (queue.stats.adds.value, queue.stats.retries.value) == (1, 0)
    assert (queue.stats.queue_duration.sum, queue.stats.work_duration.sum) == (2, 3)


async def test_a_key_rests_in_proportion_to_the_work_on_it(clock: FakeClock) -> None:
    """However often it is added meanwhile, while it is worked on or afterwards; other keys do not wait with it."""
    queue: WorkQueue[str] = WorkQueue(clock=clock, rest=2)
    queue.add("slow")
    item = await queue.get()
    queue.add("slow")
    clock.advance(0.1)
    item.done()
    queue.add("slow")
    queue.add("other")
    assert (await queue.get()).key == "other"
    clock.advance(0.19)
    queue.add("slow", priority=1)
    assert not queue
    clock.advance(0.01)
    assert (await queue.get()).key == "slow"


async def test_a_delay_that_ends_while_the_key_rests_does_not_wake_it(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock, rest=2)
    queue.add("slow")
    item = await queue.get()
    queue.add("slow", after=0.15)
    clock.advance(0.1)
    item.done()
    clock.advance(0.19)
    assert not queue
    clock.advance(0.01)
    assert len(queue) == 1


async def test_a_key_that_rests_counts_once_for_each_time_that_it_is_handed_out(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock, rest=2)
    queue.add("slow")
    item = await queue.get()
    queue.add("slow")
    clock.advance(0.1)
    item.done()
    queue.add("slow")
    clock.advance(0.2)
    assert (await queue.get()).key == "slow"
    assert queue.stats.adds.value == 2


async def test_no_key_rests_long(clock: FakeClock) -> None:
    """Work that made a thousand objects took minutes, most of them waiting: what comes next must not wait as long."""
    queue: WorkQueue[str] = WorkQueue(clock=clock, rest=2)
    queue.add("slow")
    item = await queue.get()
    clock.advance(100)
    item.done()
    queue.add("slow")
    assert not queue
    clock.advance(1)
    assert len(queue) == 1


async def test_a_key_that_has_rested_is_handed_out_at_once(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock, rest=2)
    queue.add("slow")
    item = await queue.get()
    clock.advance(0.1)
    item.done()
    clock.advance(0.2)
    queue.add("slow")
    assert len(queue) == 1


async def test_the_pace_follows_how_long_work_takes(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock)
    assert queue.pace == 0
    for _ in range(100):
        queue.add("a")
        item = await queue.get()
        clock.advance(2)
        item.done()
    assert queue.pace == pytest.approx(2, abs=0.01)
