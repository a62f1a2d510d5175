"""Whoever is cancelled ends, at whatever moment: while a request is sent, answered, read, or closed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from kapstan.client import Client
from kapstan.k8s import core_v1 as core
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing.environment import Environment

TIMES = 200


async def unnoticed(work: Callable[[], Awaitable[object]]) -> int:
    """Do it over and over, cancel it at a random moment, many times; how often that went unnoticed."""
    moments = random.Random(3)
    await work()
    loop = asyncio.get_running_loop()
    started = loop.time()
    await work()
    usual = loop.time() - started
    lost = 0
    for _ in range(TIMES):
        asked: list[bool] = []

        async def repeat(asked: list[bool] = asked) -> None:
            while not asked:
                await work()

        task = asyncio.ensure_future(repeat())
        await asyncio.sleep(moments.uniform(0, 2 * usual))
        asked.append(True)
        task.cancel()
        await asyncio.wait([task])
        lost += not task.cancelled()
    return lost


async def test_requests_notice(api: Client) -> None:
    assert await unnoticed(lambda: api.get(core.Namespace, "default")) == 0


async def test_refusals_notice(api: Client) -> None:
    """The answer of one is read after its head has come."""
    assert await unnoticed(lambda: api.find(core.Namespace, "missing")) == 0


async def test_closing_notices(env: Environment) -> None:
    async def once() -> None:
        async with Client(env.config) as client:
            await client.request("GET", "/version")

    assert await unnoticed(once) == 0


async def test_watches_notice(api: Client) -> None:
    async def once() -> None:
        async with api.watch(core.Namespace, fields="metadata.name=default") as events:
            await anext(events)

    assert await unnoticed(once) == 0


async def test_a_watch_that_was_interrupted_has_lost_nothing(api: Client, namespace: str) -> None:
    """A read is cancelled again and again while events come; all of them are seen in the end, in order."""
    names = [f"m{number:03}" for number in range(TIMES)]

    async def write() -> None:
        for name in names:
            await api.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))

    seen: list[str] = []
    moments = random.Random(3)
    async with api.watch(core.ConfigMap, namespace) as events, asyncio.TaskGroup() as group:
        group.create_task(write())
        while len(seen) < len(names):
            try:
                async with asyncio.timeout(moments.uniform(0, 0.005)):
                    event = await anext(events)
            except TimeoutError:
                continue
            if event.object.name in names:
                seen.append(event.object.name)
    assert seen == names
