"""Cancellation that is always heeded.

The HTTP library's awaitables are written in Rust. One that is cancelled in the very moment in which its result (or its
failure) arrives gives the result, and the cancellation is lost: whoever loops over requests or events then never ends,
and a time-out passes unnoticed. Comparing how often the task had been asked to end, before and after, finds it again.
Every await of that library stands in a `heeding()` block, so nobody above has to know.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ("heeding",)


class heeding:  # noqa: N801 - reads as what it does: `with heeding():`
    """A block that ends as cancelled if the task was cancelled inside, whatever was awaited there said.

    What has to be kept even then is kept inside the block. A cancellation from before the block does not count: whoever
    tidies up may still make requests.
    """

    __slots__ = ("_asked", "_task")

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._asked = task, task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task.cancelling() > self._asked and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError from None
