"""LoopThread: a thread with an event loop of its own, for what must go on while the main loop stands still."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

__all__ = ("LoopThread",)


class LoopThread:
    """Runs one coroutine function in a thread until it is stopped.

    The function is given a call that says "I have begun", and is cancelled to end. If it fails before it has begun,
    `start` raises its error; afterwards `on_failure` is told, in the thread.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Callable[[], None]], Coroutine[Any, Any, None]],
        on_failure: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._work, self._on_failure = work, on_failure
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    async def start(self) -> None:
        """Begin, and wait until the work has."""
        self._thread.start()
        await asyncio.to_thread(self._begun.wait)
        if self._error is not None:
            raise self._error

    async def stop(self) -> None:
        """Cancel the work and wait for its end."""
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # the loop is closed: the work has ended just now, by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            pass
        except Exception as error:  # noqa: BLE001 - told to whoever started it
            if self._begun.is_set():
                self._on_failure(error)
            else:
                self._error = error
        finally:
            self._begun.set()

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        await self._work(self._begun.set)
