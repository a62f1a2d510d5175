"""The clock of these tests."""

from __future__ import annotations

import asyncio
import time


async def test_a_day_passes_at_once() -> None:
    loop = asyncio.get_running_loop()
    before, started = loop.time(), time.monotonic()
    await asyncio.sleep(86_400)
    assert loop.time() - before >= 86_400
    assert time.monotonic() - started < 60
