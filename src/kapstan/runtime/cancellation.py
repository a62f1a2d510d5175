"""Cancellation that is always heeded.

The transport's awaitables are written in Rust. One that is cancelled in the very moment in which its result arrives
returns the result, and the cancellation is lost: whoever loops over requests or events then never ends. Comparing how
often the task had been asked to end, before and after, finds it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Self, TypeVar

from kapstan.client.client import Client
from kapstan.client.shapes import RawEvent
from kapstan.client.stream import Stream
from kapstan.client.transport import Request, Response
from kapstan.client.watch import RawWatch
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("CancellableClient", "CancellableWatch", "heeding")

T = TypeVar("T")


async def heeding(work: Awaitable[T]) -> T:
    """Await something, and end if the task was asked to meanwhile, even if the result says otherwise."""
    task = asyncio.current_task()
    assert task is not None
    asked = task.cancelling()
    result = await work
    if task.cancelling() > asked:
        raise asyncio.CancelledError
    return result


class CancellableClient(Client):
    """A client whose requests end when they are asked to."""

    async def send(self, request: Request, gvk: GroupVersionKind, subresource: str = "") -> Response:
        return await heeding(super().send(request, gvk, subresource))

    async def open(self, request: Request, gvk: GroupVersionKind, subresource: str = "") -> Stream:
        return await heeding(super().open(request, gvk, subresource))


class CancellableWatch(AsyncIterator[RawEvent]):
    """A watch that ends when it is asked to."""

    def __init__(self, watch: RawWatch) -> None:
        self._watch = watch

    async def __anext__(self) -> RawEvent:
        return await heeding(anext(self._watch))

    async def __aenter__(self) -> Self:
        await heeding(self._watch.__aenter__())
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._watch.close()
