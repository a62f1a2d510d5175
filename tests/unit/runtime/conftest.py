"""Time in these tests is skipped, not waited for: when nothing is left to do, the clock jumps to the next timer.

A loop with open sockets waits for real, since the other side of a socket does not skip.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Mapping

import pytest


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps ahead instead of waiting, and stands still while anything runs."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_SkippingSelector(self))

    def time(self) -> float:
        return self.now


class _SkippingSelector(selectors.DefaultSelector):
    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        only_the_loops_own_pipe = len(self.get_map()) <= 1
        if timeout is None or timeout <= 0 or not only_the_loops_own_pipe:
            return self._really(timeout)
        ready = super().select(0)
        if not ready:
            self._loop.now += timeout
        return ready

    def _really(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        ready = super().select(timeout)
        self._loop.now += time.monotonic() - began
        return ready


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"skipping": SkippingLoop}


@pytest.fixture(scope="session")
def skipping_loop() -> type[SkippingLoop]:
    """For tests that make their event loops themselves."""
    return SkippingLoop
