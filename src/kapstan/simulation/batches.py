"""Batches: many requests at once, but not too many, and none after the first that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

__all__ = ("in_batches",)

T = TypeVar("T")

_SIZE = 32


async def in_batches(work: Callable[[T], Awaitable[object]], items: Iterable[T], *, first: int = 1) -> Exception | None:
    """Do something about each item; the first failure, after which no further batch has begun.

    The first batch is one item, the next are twice as large each: what the server refuses, it is asked only once.
    Where nothing is refused, the `first` may be larger.
    """
    rest, size = list(items), first
    while rest:
        batch, rest = rest[:size], rest[size:]
        results = await asyncio.gather(*(work(item) for item in batch), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                return result
            if isinstance(result, BaseException):
                raise result
        size = min(size * 2, _SIZE)
    return None
