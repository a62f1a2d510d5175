"""Cancellation against awaitables that lose it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan.client.cancellation import heeding

Arrival = asyncio.Future[str]


async def losing(result: Arrival) -> str:
    """As the HTTP library's: asked to end while the result arrives, it returns the result."""
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        return result.result()


async def heeded(result: Arrival) -> str:
    with heeding():
        return await losing(result)


async def ended(task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    await asyncio.wait([task])
    return task


async def test_a_cancellation_that_was_lost_is_found_again() -> None:
    result: Arrival = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(heeded(result))
    await asyncio.sleep(0)
    result.set_result("arrived")
    task.cancel()
    assert (await ended(task)).cancelled()


async def test_so_is_one_that_a_failure_hid() -> None:
    result: Arrival = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(heeded(result))
    await asyncio.sleep(0)
    result.set_exception(ValueError("cut"))
    task.cancel()
    assert (await ended(task)).cancelled()


async def test_results_and_failures_come_through() -> None:
    result: Arrival = asyncio.get_running_loop().create_future()
    result.set_result("arrived")
    assert await heeded(result) == "arrived"
    failure: Arrival = asyncio.get_running_loop().create_future()
    failure.set_exception(ValueError("cut"))
    with pytest.raises(ValueError, match="cut"):
        await heeded(failure)


async def test_a_timeout_that_was_lost_is_found_again() -> None:
    result: Arrival = asyncio.get_running_loop().create_future()

    async def late() -> str:
        async with asyncio.timeout(None) as limit:
            asyncio.get_running_loop().call_soon(result.set_result, "arrived")
            limit.reschedule(0)
            return await heeded(result)

    with pytest.raises(TimeoutError):
        await late()


async def test_work_after_a_cancellation_is_not_disturbed_by_it() -> None:
    """Whoever tidies up after being cancelled may still make requests."""
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with heeding():
                said.append(await asyncio.sleep(0, "tidied up"))

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    task.cancel()
    assert (await ended(task)).cancelled()
    assert said == ["tidied up"]
