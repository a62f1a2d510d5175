"""A thread with an event loop of its own: how it begins, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from kapstan.runtime.loopthread import LoopThread


async def test_it_runs_until_it_is_stopped() -> None:
    said: list[str] = []

    async def work(begun: Callable[[], None]) -> None:
        said.append(threading.current_thread().name)
        begun()
        try:
            await asyncio.Event().wait()
        finally:
            said.append("ended")

    thread = LoopThread("aside", work)
    await thread.start()
    assert said == ["aside"]
    await thread.stop()
    assert said == ["aside", "ended"]


async def test_what_fails_before_it_has_begun_fails_the_start() -> None:
    async def work(begun: Callable[[], None]) -> None:
        raise ValueError("no port")

    thread = LoopThread("aside", work)
    with pytest.raises(ValueError, match="no port"):
        await thread.start()
    await thread.stop()


async def test_it_may_be_stopped_in_the_moment_in_which_it_fails() -> None:
    """Its loop is closed then, while the thread still tells of the failure."""
    failing, stopping = threading.Event(), threading.Event()

    async def work(begun: Callable[[], None]) -> None:
        begun()
        raise ValueError("lost")

    def on_failure(error: Exception) -> None:
        failing.set()
        stopping.wait(60)

    thread = LoopThread("aside", work, on_failure)
    await thread.start()
    await asyncio.to_thread(failing.wait)
    asyncio.get_running_loop().call_later(0.05, stopping.set)
    await thread.stop()


async def test_stopping_what_was_never_started_is_fine() -> None:
    async def work(begun: Callable[[], None]) -> None:
        raise AssertionError("nobody asked for it")

    await LoopThread("aside", work).stop()
