"""A manager as a process: event loop, signals, exit codes, and an end within its deadline whatever happens."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from kapstan.machinery.errors import KapstanError
from kapstan.runtime import log as logs
from kapstan.runtime.background import causes
from kapstan.runtime.options import ManagerOptions

__all__ = ("collect_rarely", "new_event_loop", "run_process")

log = logging.getLogger(__name__)

# Beyond the graceful shutdown, for releasing the lease and closing connections.
CLOSING = 5.0
# How many more objects there must be before the collector looks for cycles among the new ones.
_ALLOCATIONS = 50_000


def run_process(
    start: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], None], options: ManagerOptions
) -> None:
    """Run until SIGTERM or SIGINT; a second one ends the process at once. What fails is said, with exit code 1."""
    if options.log is not None:
        logs.configure(
            encoder=options.log.encoder,
            level=options.log.level,
            stacktrace_level=options.log.stacktrace_level,
            time_encoding=options.log.time_encoding,
        )
    collect_rarely()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_with_signals(start, stop, options.graceful_shutdown_timeout))
    except Exception as error:
        behind = causes(error)
        expected = [cause for cause in behind if isinstance(cause, KapstanError)]
        if len(expected) < len(behind):
            log.critical("The manager has failed", exc_info=error)
        for cause in expected:
            log.critical("%s", cause)
        sys.exit(1)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The fastest loop that there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def collect_rarely() -> None:
    """Look for cycles among objects seldom, and never among those that are there already.

    A process of controllers makes and drops great numbers of small objects, hardly any of them in cycles: by default a
    fifth of its time goes into looking.
    """
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, 20, 20)


async def _with_signals(
    start: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], None], timeout: float
) -> None:
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            _exit_now("a second signal")
        log.info("Stopping and waiting for what runs")
        _arm_deadline(timeout)
        stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    await start()


def _arm_deadline(timeout: float) -> None:
    """End the process when the deadline is over, even if a thread hangs or the loop stands still."""
    if timeout >= 0:
        timer = threading.Timer(timeout + CLOSING, _exit_now, ["the deadline is over"])
        timer.daemon = True
        timer.start()


def _exit_now(why: str) -> None:
    log.critical("Ending the process at once: %s", why)
    logging.shutdown()
    os._exit(1)
