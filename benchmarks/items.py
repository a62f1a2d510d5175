"""The kind that runtime benchmarks work on, and how many of its objects are made."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import field

from kapstan.client import Client
from kapstan.machinery.meta import Int32, Int64, ObjectMeta
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("NAMESPACE", "Item", "ItemSpec", "ItemStatus", "an_item", "create_items")

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
    slots = asyncio.Semaphore(_AT_ONCE)

    async def create(number: int) -> None:
        async with slots:
            await client.create(an_item(number))

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(create(number))


async def reset_status(client: Client, count: int) -> None:
    """Take the status away, so that the next program has the same to write."""
    from kapstan.client import Patch

    slots = asyncio.Semaphore(_AT_ONCE)
    patch = Patch.merge({"status": None})

    async def reset(number: int) -> None:
        async with slots:
            item = Item(metadata=ObjectMeta(name=f"item-{number:05d}", namespace=NAMESPACE))
            await client.patch(item, patch, subresource="status")

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(reset(number))


def an_annotation(nanoseconds: int) -> dict[str, Any]:
    """A change that tells when it was made."""
    return {"metadata": {"annotations": {"bench.kapstan.dev/sent": str(nanoseconds)}}}
