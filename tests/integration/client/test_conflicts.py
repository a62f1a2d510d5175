"""Writers that collide lose nothing."""

from __future__ import annotations

import asyncio

from kapstan.client import Client, retry_on_conflict
from kapstan.k8s import core_v1 as core
from kapstan.machinery.meta import ObjectMeta

WRITERS = 1000
AT_ONCE = 20


async def test_a_thousand_conflicting_writers_lose_no_update(api: Client, namespace: str) -> None:
    """Each adds one to the same number, on what it has read; those who come too late read again."""
    await api.create(core.ConfigMap(metadata=ObjectMeta(name="counter", namespace=namespace), data={"value": "0"}))
    attempts = 0

    async def increment() -> None:
        nonlocal attempts
        attempts += 1
        counter = await api.get(core.ConfigMap, "counter", namespace)
        async with api.edit(counter, optimistic_lock=True) as draft:
            draft.data["value"] = str(int(draft.data["value"]) + 1)

    turn = asyncio.Semaphore(AT_ONCE)

    async def writer() -> None:
        async with turn:
            await retry_on_conflict(increment, attempts=500)

    async with asyncio.timeout(240), asyncio.TaskGroup() as writers:
        for _ in range(WRITERS):
            writers.create_task(writer())
    counter = await api.get(core.ConfigMap, "counter", namespace)
    assert counter.data == {"value": str(WRITERS)}
    assert attempts > WRITERS  # they did collide
