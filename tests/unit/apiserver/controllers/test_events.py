"""Events expire an hour after they were last written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.controllers.events import TIME_TO_LIVE, EventExpiry
from kapstan.machinery.gvk import GroupVersionKind

EVENT = GroupVersionKind("", "v1", "Event")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def cluster() -> AsyncIterator[LogicalCluster]:
    async with asyncio.TaskGroup() as tasks:
        yield await new_cluster("test", tasks=tasks)


def event(name: str) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, "reason": "R"}


async def names(cluster: LogicalCluster) -> list[str]:
    return [one["metadata"]["name"] for one in await cluster.api.list(EVENT, "default")]


async def test_an_event_is_gone_after_an_hour_unless_it_was_written_again(cluster: LogicalCluster) -> None:
    clock = Clock()
    expiry = EventExpiry(cluster, clock=clock)
    await cluster.api.create(event("first"))
    clock.now += 10
    await cluster.api.create(event("second"))
    clock.now += TIME_TO_LIVE - 20
    await cluster.api.patch(EVENT, "first", "default", {"count": 2})
    clock.now += 15
    expiry.expire()
    await expiry.idle()
    assert await names(cluster) == ["first", "second"]
    clock.now += 10
    expiry.expire()
    await expiry.idle()
    assert await names(cluster) == ["first"]
    clock.now += TIME_TO_LIVE
    expiry.expire()
    await expiry.idle()
    assert await names(cluster) == []
    expiry.close()


async def test_events_from_before_expire_too(cluster: LogicalCluster) -> None:
    await cluster.api.create(event("old"))
    clock = Clock()
    expiry = EventExpiry(cluster, clock=clock)
    expiry.start()
    clock.now += TIME_TO_LIVE + 1
    expiry.expire()
    await expiry.idle()
    assert await names(cluster) == []
    expiry.close()


async def test_a_short_life_ends_by_itself(cluster: LogicalCluster) -> None:
    expiry = EventExpiry(cluster, time_to_live=0.01)
    async with asyncio.timeout(10), cluster.api.watch(EVENT, "default") as events:
        await cluster.api.create(event("short"))
        seen = []
        async for found in events:
            seen.append(found.type)
            if found.type == "DELETED":
                break
    assert seen == ["ADDED", "DELETED"]
    expiry.close()
