"""Cancellation against awaitables that lose it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from kapstan.runtime.cancellation import heeding


async def losing(result: asyncio.Future[str]) -> str:
    """As the transport's: asked to end while the result arrives, it returns the result."""
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        return result.result()


async def run(work: Awaitable[str], result: asyncio.Future[str]) -> asyncio.Task[str]:
    task = asyncio.ensure_future(heeding(work))
    await asyncio.sleep(0)
    result.set_result("arrived")
    task.cancel()
    await asyncio.wait([task])
    return task


async def test_a_cancellation_that_was_lost_is_found_again() -> None:
    result = asyncio.get_running_loop().create_future()
    assert (await run(losing(result), result)).cancelled()


async def test_results_come_through() -> None:
    result = asyncio.get_running_loop().create_future()
    result.set_result("arrived")
    assert await heeding(losing(result)) == "arrived"


async def test_work_after_a_cancellation_is_not_disturbed_by_it() -> None:
    """Whoever tidies up after being cancelled may still make requests."""
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            said.append(await heeding(asyncio.sleep(1, "tidied up")))

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said == ["tidied up"]
