"""The kind that runtime benchmarks work on, and how many of its objects are made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec import field

from kapstan.client import Client, Patch
from kapstan.machinery.meta import Int32, Int64, ObjectMeta
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("NAMESPACE", "Item", "ItemSpec", "ItemStatus", "an_item", "annotate", "create_items", "set_status")

NAMESPACE = "default"
_AT_ONCE = 50


class ItemSpec(Model):
    """Something of 2 to 3 kB, as custom objects commonly are."""

    payload: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    size: Int32 | None = None


class ItemStatus(Model):
    """What the reconciler writes."""

    observed_generation: Int64 | None = None
    size: Int32 | None = None


@resource(group="bench.kapstan.dev", version="v1")
class Item(Resource):
    """An object to be cached and reconciled."""

    spec: ItemSpec = field(default_factory=ItemSpec)
    status: ItemStatus = field(default_factory=ItemStatus)


def an_item(number: int) -> Item:
    return Item(
        metadata=ObjectMeta(
            name=f"item-{number:05d}",
            namespace=NAMESPACE,
            labels={"app": "bench", "shard": str(number % 16)},
        ),
        spec=ItemSpec(
            payload=[f"{number:05d}-{index:03d}-" + "x" * 48 for index in range(20)],
            settings={f"setting-{index}": f"value-{number}-{index}" for index in range(20)},
            size=number % 100,
        ),
    )


async def create_items(client: Client, count: int) -> None:
    """Create so many, some at once."""

    async def create(number: int) -> None:
        await client.create(an_item(number))

    await _for_each(range(count), create)


async def set_status(client: Client, numbers: Iterable[int], status: dict[str, Any] | None) -> None:
    """Give objects a status, or take it away, so that each program has the same to write."""
    patch = Patch.merge({"status": status})

    async def write(number: int) -> None:
        await client.patch(_named(number), patch, subresource="status")

    await _for_each(numbers, write)


async def _for_each(numbers: Iterable[int], work: Callable[[int], Awaitable[None]]) -> None:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(one(number))


async def annotate(client: Client, number: int, nanoseconds: int | None) -> None:
    """Have an object tell when this was written, or forget that it ever did."""
    sent = None if nanoseconds is None else {"bench.kapstan.dev/sent": str(nanoseconds)}
    await client.patch(_named(number), Patch.merge({"metadata": {"annotations": sent}}))


def _named(number: int) -> Item:
    return Item(metadata=ObjectMeta(name=f"item-{number:05d}", namespace=NAMESPACE))
