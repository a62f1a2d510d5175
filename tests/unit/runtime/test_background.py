"""What runs alongside a block."""

from __future__ import annotations

import asyncio

import pytest

from kapstan.runtime.background import background


async def forever() -> None:
    await asyncio.Event().wait()


async def test_it_ends_with_the_block() -> None:
    async with background(forever()) as task:
        await asyncio.sleep(0)
        assert not task.done()
    assert task.cancelled()


async def test_what_the_block_raises_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with background(forever()):
            raise ValueError("mine")


async def test_its_failure_ends_the_block() -> None:
    async def fail() -> None:
        raise KeyError("theirs")

    with pytest.raises(ExceptionGroup) as caught:
        async with background(fail()):
            await forever()
    assert isinstance(caught.value.exceptions[0], KeyError)


async def test_cancelling_the_block_cancels_both() -> None:
    tasks = []

    async def block() -> None:
        async with background(forever()) as task:
            tasks.append(task)
            await forever()

    running = asyncio.ensure_future(block())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tasks[0].cancelled()
