"""The work queue: each key once, again after a failure, and no task without work."""

from __future__ import annotations

import asyncio

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.controllers.work import WorkQueue


async def test_a_key_that_is_added_often_is_looked_at_once() -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)

    async with asyncio.TaskGroup() as tasks:
        queue = WorkQueue(await new_cluster("test", tasks=tasks), "test", reconcile)
        for key in ("a", "b", "a", "a"):
            queue.add(key)
        await queue.idle()
    assert seen == ["a", "b"]


async def test_a_key_that_is_added_while_it_is_looked_at_is_looked_at_again() -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)
        if len(seen) == 1:
            queue.add(key)

    async with asyncio.TaskGroup() as tasks:
        queue = WorkQueue(await new_cluster("test", tasks=tasks), "test", reconcile)
        queue.add("a")
        await queue.idle()
    assert seen == ["a", "a"]


async def test_what_fails_is_tried_again_and_others_do_not_wait_for_it(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    done = asyncio.Event()

    async def reconcile(key: str) -> None:
        seen.append(key)
        if seen.count("bad") < 3 and key == "bad":
            raise ValueError("not yet")
        if key == "bad":
            done.set()

    async with asyncio.TaskGroup() as tasks:
        queue = WorkQueue(await new_cluster("test", tasks=tasks), "test", reconcile)
        queue.add("bad")
        queue.add("good")
        async with asyncio.timeout(10):
            await done.wait()
    assert seen == ["bad", "good", "bad", "bad"]
    assert "not yet" in caplog.text


async def test_an_idle_queue_has_no_task() -> None:
    async def reconcile(key: str) -> None:
        pass

    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        before = len(asyncio.all_tasks())
        queue = WorkQueue(cluster, "test", reconcile)
        queue.add("a")
        await queue.idle()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == before


async def test_a_closed_queue_does_nothing() -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)

    async with asyncio.TaskGroup() as tasks:
        queue = WorkQueue(await new_cluster("test", tasks=tasks), "test", reconcile)
        queue.close()
        queue.add("a")
        queue.add_after("b", 0)
        await asyncio.sleep(0)
    assert seen == []
