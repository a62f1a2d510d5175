"""Silence limit: ends a block with TimeoutError once nothing has been heard for too long.

Hearing something is one assignment, so that it costs nothing per event; a timer looks now and then.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ("SilenceLimit",)

# How often it looks within the limit: silence is noticed after one to one and a quarter times the limit.
LOOKS = 4


class SilenceLimit:
    """`async with SilenceLimit(90) as limit:` and `limit.heard()` whenever something is."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds  # may be changed at any time
        self._heard = True
        self._quiet_looks = 0
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        self._heard = True

    async def __aenter__(self) -> SilenceLimit:
        await self._timeout.__aenter__()
        self._look_later()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.seconds / LOOKS, self._look)

    def _look(self) -> None:
        self._quiet_looks = 0 if self._heard else self._quiet_looks + 1
        self._heard = False
        if self._quiet_looks >= LOOKS:
            self._timeout.reschedule(asyncio.get_running_loop().time())
        else:
            self._look_later()
