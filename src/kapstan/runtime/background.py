"""Background: something that runs alongside a block, and ends with it; and what is behind its failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

__all__ = ("background", "causes")


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], *, name: str = "") -> AsyncIterator[asyncio.Task[None]]:
    """Run `work` until the block ends. If it fails, the block is cancelled and the failure raised.

    What the block itself raises comes out as it is, not wrapped into a group.
    """
    raised: Exception | None = None
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work, name=name or None)
        try:
            yield task
        except Exception as error:  # noqa: BLE001 - raised again below
            raised = error
        finally:
            task.cancel()
    if raised is not None:
        raise raised


def causes(error: BaseException) -> list[BaseException]:
    """What is behind an error that may be a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for one in error.exceptions for cause in causes(one)]
    return [error]
