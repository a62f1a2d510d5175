"""Controllers: what happens around a reconcile, whatever the reconcile does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from kapstan.machinery.errors import Conflict, KapstanError
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.runtime import log as logs
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerOptions
from kapstan.runtime.handler import enqueue_object
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.metrics import Registry
from kapstan.runtime.ratelimiter import exponential
from kapstan.runtime.reconcile import Outcome, Result, TerminalError
from kapstan.runtime.source import Channel, KindSource, every
from kapstan.runtime.workqueue import LOW_PRIORITY

A, B = ObjectKey("ns", "a"), ObjectKey("ns", "b")
Reconcile = Callable[[ObjectKey], Awaitable[Outcome]]


class Run:
    """A running controller, woken through a channel."""

    def __init__(self, reconcile: Reconcile, **options: Any) -> None:
        self.registry = Registry()
        self.channel = Channel()
        self.controller = Controller(
            "test",
            reconcile,
            sources=[self.channel],
            options=ControllerOptions(**options),
            gvk=GroupVersionKind("test.kapstan.dev", "v1", "Widget"),
            metrics=self.registry,
        )

    def count(self, name: str, *labels: str) -> float:
        return self.registry.value(f"controller_runtime_{name}", "test", *labels)


@asynccontextmanager
async def running(reconcile: Reconcile, **options: Any) -> AsyncIterator[Run]:
    run = Run(reconcile, **options)
    task = asyncio.ensure_future(run.controller.run())
    try:
        yield run
        run.controller.stop()
        await task
    finally:
        task.cancel()


async def test_what_is_sent_is_reconciled_once() -> None:
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    async with running(reconcile) as run:
        for key in (A, A, B):
            run.channel.send(key)
        await asyncio.sleep(1)
    assert seen == [A, B]
    assert run.count("reconcile_total", "success") == 2


async def test_what_was_sent_before_the_start_is_not_lost() -> None:
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    run = Run(reconcile)
    run.channel.send(A)
    task = asyncio.ensure_future(run.controller.run())
    await asyncio.sleep(1)
    run.controller.stop()
    await task
    assert seen == [A]


async def test_an_error_backs_off_and_spares_the_others(caplog: pytest.LogCaptureFixture) -> None:
    times: dict[ObjectKey, list[float]] = {A: [], B: []}

    async def reconcile(key: ObjectKey) -> None:
        times[key].append(asyncio.get_running_loop().time())
        if key == A and len(times[A]) < 4:
            raise ConnectionError("no route")

    async with running(reconcile) as run:
        run.channel.send(A)
        run.channel.send(B)
        await asyncio.sleep(10)
    assert len(times[A]) == 4 and len(times[B]) == 1
    gaps = [after - before for before, after in zip(times[A], times[A][1:], strict=False)]
    assert [round(gap, 3) for gap in gaps] == [0.005, 0.01, 0.02]
    assert (run.count("reconcile_errors_total"), run.count("reconcile_total", "error")) == (3, 3)
    assert run.count("reconcile_panics_total") == 0
    assert "no route" in caplog.text
    assert run.controller.queue.retries(A) == 0, "success forgets the failures"


async def test_a_terminal_error_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    async def reconcile(key: ObjectKey) -> None:
        nonlocal calls
        calls += 1
        raise TerminalError("spec.size is too large for this cluster")

    async with running(reconcile) as run:
        run.channel.send(A)
        await asyncio.sleep(3600)
    assert calls == 1
    assert run.count("terminal_reconcile_errors_total") == 1
    assert "spec.size is too large" in caplog.text and "Traceback" not in caplog.text


async def test_a_bug_is_counted_as_a_panic_and_shown_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(key: ObjectKey) -> None:
        raise KeyError("missing")

    async with running(reconcile) as run:
        run.channel.send(A)
        await asyncio.sleep(0.001)
    assert run.count("reconcile_panics_total") == 1
    assert "KeyError" in caplog.text and "Traceback" in caplog.text


async def test_a_conflict_is_no_drama(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    async def reconcile(key: ObjectKey) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Conflict("the object has been modified")

    with caplog.at_level(logging.INFO):
        async with running(reconcile) as run:
            run.channel.send(A)
            await asyncio.sleep(1)
    assert calls == 2
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("after", [30, timedelta(seconds=30)])
async def test_a_result_brings_the_object_back(after: float | timedelta) -> None:
    times: list[float] = []

    async def reconcile(key: ObjectKey) -> Result:
        times.append(asyncio.get_running_loop().time())
        return Result(requeue_after=after) if len(times) == 1 else Result()

    async with running(reconcile) as run:
        run.channel.send(A)
        await asyncio.sleep(100)
    assert len(times) == 2 and times[1] - times[0] == pytest.approx(30, abs=0.1)
    assert run.count("reconcile_total", "requeue_after") == 1


async def test_a_requeue_keeps_the_priority_unless_told_otherwise() -> None:
    priorities: list[int] = []

    async def reconcile(key: ObjectKey) -> Result:
        (item,) = run.controller.queue._processing.values()
        priorities.append(item.priority)
        return [Result(requeue_after=1), Result(requeue_after=1, priority=7), Result()][len(priorities) - 1]

    async with running(reconcile) as run:
        run.channel.send(A, priority=LOW_PRIORITY)
        await asyncio.sleep(10)
    assert priorities == [LOW_PRIORITY, LOW_PRIORITY, 7]


async def test_so_many_at_a_time_but_never_the_same_object() -> None:
    now: set[ObjectKey] = set()
    most = 0

    async def reconcile(key: ObjectKey) -> None:
        nonlocal most
        assert key not in now
        now.add(key)
        most = max(most, len(now))
        await asyncio.sleep(1)
        now.remove(key)

    async with running(reconcile, max_concurrent_reconciles=3) as run:
        for number in range(10):
            run.channel.send(ObjectKey("ns", str(number % 5)))
        await asyncio.sleep(0.5)
        run.channel.send(ObjectKey("ns", "0"))
        assert run.count("active_workers") == 3
        await asyncio.sleep(10)
    assert most == 3
    assert run.count("reconcile_errors_total") == 0
    assert run.count("max_concurrent_reconciles") == 3


async def test_workers_begin_when_they_are_needed() -> None:
    """A process may run thousands of controllers, each with many workers; most of them never have two things to do."""

    async def reconcile(key: ObjectKey) -> None:
        await asyncio.sleep(1)

    def workers() -> int:
        return sum(task.get_name() == "test worker" for task in asyncio.all_tasks())

    async with running(reconcile, max_concurrent_reconciles=50) as run:
        for _ in range(10):  # one after the other
            run.channel.send(A)
            await asyncio.sleep(2)
        assert workers() == 2
        for number in range(20):
            run.channel.send(ObjectKey("ns", str(number)))
        await asyncio.sleep(0.5)
        assert run.count("active_workers") == 20
        await asyncio.sleep(2)


async def test_a_reconcile_that_takes_too_long_is_ended() -> None:
    ended: list[str] = []

    async def reconcile(key: ObjectKey) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.append(key.name)
            raise

    async with running(reconcile, reconcile_timeout=5, rate_limiter=lambda: exponential(100, 100)) as run:
        run.channel.send(A)
        await asyncio.sleep(50)
    assert ended == ["a"]
    assert (run.count("reconcile_timeouts_total"), run.count("reconcile_errors_total")) == (1, 1)


async def test_a_timeout_of_the_reconciler_itself_is_just_an_error() -> None:
    async def reconcile(key: ObjectKey) -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(3600)

    async with running(reconcile, reconcile_timeout=50, rate_limiter=lambda: exponential(100, 100)) as run:
        run.channel.send(A)
        await asyncio.sleep(10)
    assert (run.count("reconcile_timeouts_total"), run.count("reconcile_errors_total")) == (0, 1)


async def test_every_line_of_a_reconcile_says_which_it_is() -> None:
    seen: list[dict[str, Any]] = []

    async def reconcile(key: ObjectKey) -> None:
        await asyncio.sleep(0)
        seen.append(dict(logs.current_fields()))

    async with running(reconcile) as run:
        run.channel.send(A)
        run.channel.send(B)
        await asyncio.sleep(1)
    first, second = seen
    assert first.pop("reconcileID") != second.pop("reconcileID")
    assert first == {
        "controller": "test",
        "controllerGroup": "test.kapstan.dev",
        "controllerKind": "Widget",
        "namespace": "ns",
        "name": "a",
    }


async def test_stopping_lets_what_runs_finish_and_begins_nothing_more() -> None:
    begun: list[str] = []
    finished: list[str] = []

    async def reconcile(key: ObjectKey) -> None:
        begun.append(key.name)
        await asyncio.sleep(5)
        finished.append(key.name)

    async with running(reconcile) as run:
        run.channel.send(A)
        run.channel.send(B)
        await asyncio.sleep(1)
    assert begun == finished == ["a"]


async def test_workers_wait_until_every_source_is_synced() -> None:
    class Slow:
        async def run(self, queue: Any, synced: Callable[[], None]) -> None:
            queue.add(A)
            await asyncio.sleep(30)
            synced()
            await asyncio.sleep(3600)

    times: list[float] = []

    async def reconcile(key: ObjectKey) -> None:
        times.append(asyncio.get_running_loop().time())

    controller = Controller("test", reconcile, sources=[Slow()])
    began = asyncio.get_running_loop().time()
    task = asyncio.ensure_future(controller.run())
    await asyncio.sleep(60)
    controller.stop()
    await task
    assert times[0] - began >= 30


async def test_caches_that_never_fill_end_the_controller_with_a_reason() -> None:
    """As controller-runtime does; but not if the kind is merely not served yet."""
    informer = SharedInformer(GroupVersionKind("", "v1", "Pod"))
    source = KindSource(informer, informer.gvk, enqueue_object)

    async def reconcile(key: ObjectKey) -> None: ...

    controller = Controller("test", reconcile, sources=[source], options=ControllerOptions(cache_sync_timeout=50))
    with pytest.raises(ExceptionGroup) as raised:
        await controller.run()
    assert raised.group_contains(KapstanError, match=r"caches not synced within 50 s \(Pod: not synced yet\)")

    informer.settle()  # known to be absent
    waiting = asyncio.ensure_future(
        Controller("test", reconcile, sources=[source], options=ControllerOptions(cache_sync_timeout=50)).run()
    )
    await asyncio.sleep(1000)
    assert not waiting.done()
    waiting.cancel()


async def test_a_warm_standby_has_its_queue_filled_before_it_may_work() -> None:
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    run = Run(reconcile)
    run.channel.send(A)
    watching = asyncio.ensure_future(run.controller.watch())
    await asyncio.sleep(60)
    assert run.controller.synced and len(run.controller.queue) == 1 and not seen
    leading = asyncio.ensure_future(run.controller.run())
    await asyncio.sleep(1)
    assert seen == [A]
    run.controller.stop()
    await leading
    watching.cancel()


async def test_a_source_that_breaks_ends_the_controller() -> None:
    class Broken:
        async def run(self, queue: Any, synced: Callable[[], None]) -> None:
            raise KapstanError("the queue's source is broken")

    async def reconcile(key: ObjectKey) -> None: ...

    with pytest.raises(ExceptionGroup):
        await Controller("test", reconcile, sources=[Broken()]).run()


async def test_timers_name_objects_at_intervals_and_survive_errors(caplog: pytest.LogCaptureFixture) -> None:
    times: list[float] = []
    asked = 0

    async def keys() -> list[ObjectKey]:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise ConnectionError("no route")
        return [A]

    async def reconcile(key: ObjectKey) -> None:
        times.append(asyncio.get_running_loop().time())

    controller = Controller("test", reconcile, sources=[every(10, keys)])
    task = asyncio.ensure_future(controller.run())
    await asyncio.sleep(45)
    controller.stop()
    await task
    assert asked == 4 and len(times) == 3
    assert "asked again in 10 s" in caplog.text


async def test_queue_metrics_have_client_gos_names() -> None:
    async def reconcile(key: ObjectKey) -> None: ...

    async with running(reconcile) as run:
        run.channel.send(A)
        await asyncio.sleep(1)
        text = run.registry.exposition().decode()
    for name in (
        'workqueue_adds_total{controller="test",name="test"} 1.0',
        'workqueue_depth{controller="test",name="test",priority="0"} 0.0',
        'workqueue_retries_total{controller="test",name="test"} 0.0',
        'workqueue_unfinished_work_seconds{controller="test",name="test"} 0',
        'workqueue_longest_running_processor_seconds{controller="test",name="test"} 0',
        'workqueue_queue_duration_seconds_count{controller="test",name="test"} 1',
        'workqueue_work_duration_seconds_count{controller="test",name="test"} 1',
        'controller_runtime_reconcile_time_seconds_count{controller="test"} 1',
    ):
        assert name in text, name
