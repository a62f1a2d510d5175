"""Watchdog: notices when the event loop stands still, measures it, and says what it stands in.

One blocking call stalls every controller of a process. A task of the loop leaves a sign of life; a thread that does
not depend on the loop looks at it. Probes ask the watchdog whether the loop lives.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType

from kapstan.runtime.metrics import Registry

__all__ = ("Watchdog",)

log = logging.getLogger(__name__)

BEAT = 0.25  # seconds between two signs of life
STALL = 1.0  # without one for so long, the loop counts as stalled
_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Watchdog:
    """Watches the loop that runs `run`."""

    def __init__(self, metrics: Registry | None = None) -> None:
        registry = metrics or Registry()
        self._lag = registry.histogram(
            "kapstan_event_loop_lag_seconds", "How late the event loop runs what is due", bounds=_SECONDS
        ).labels()
        self._stalls = registry.counter(
            "kapstan_event_loop_stalls_total", f"How often the event loop stood still for more than {STALL:g} s"
        ).labels()
        self._beat = time.monotonic()
        self._ended = threading.Event()

    @property
    def silence(self) -> float:
        """Seconds since the last sign of life; from any thread."""
        return time.monotonic() - self._beat

    async def run(self) -> None:
        """Leave signs of life until cancelled."""
        watcher = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="watchdog", daemon=True)
        self._beat = time.monotonic()
        watcher.start()
        try:
            while True:
                due = time.monotonic() + BEAT
                await asyncio.sleep(BEAT)
                self._beat = time.monotonic()
                self._lag.observe(max(0.0, self._beat - due))
        finally:
            self._ended.set()

    def _watch(self, loop_thread: int) -> None:
        reported = False
        while not self._ended.wait(BEAT):
            stalled = self.silence > STALL
            if stalled and not reported:
                self._stalls.inc()
                frame = sys._current_frames().get(loop_thread)
                log.warning("The event loop has been blocked for %.1f s in:\n%s", self.silence, _stack(frame))
            reported = stalled


def _stack(frame: FrameType | None) -> str:
    return "".join(traceback.format_stack(frame, limit=12)) if frame is not None else "(unknown)"
