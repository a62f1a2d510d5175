"""The delta queue: the latest of each object, in order, with a bound."""

from __future__ import annotations

import asyncio
import json

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.deltaqueue import Delta, DeltaQueue, Replaced
from kapstan.runtime.snapshot import Snapshot


def delta(name: str, version: int, *, gone: bool = False, initial: bool = False) -> Delta:
    obj = {"metadata": {"name": name, "resourceVersion": str(version)}}
    return Delta(Snapshot.of(json.dumps(obj).encode()), gone=gone, initial=initial)


def told(deltas: list[Delta | Replaced]) -> list[str]:
    return [
        "replaced"
        if isinstance(one, Replaced)
        else f"{'-' if one.gone else ''}{one.snapshot.name}{one.snapshot.resource_version}"
        for one in deltas
    ]


async def test_of_several_states_that_wait_only_the_latest_is_handed_out() -> None:
    queue = DeltaQueue()
    for one in (delta("a", 1), delta("b", 2), delta("a", 3), delta("b", 4, gone=True)):
        queue.put(one)
    assert told(await queue.take()) == ["a3", "-b4"]


async def test_states_that_were_handed_out_do_not_count_as_waiting() -> None:
    queue = DeltaQueue()
    queue.put(delta("a", 1))
    await queue.take()
    queue.put(delta("a", 2))
    assert told(await queue.take()) == ["a2"]


async def test_a_change_on_top_of_the_first_sight_is_news() -> None:
    queue = DeltaQueue()
    queue.put(delta("a", 1, initial=True))
    queue.put(delta("a", 2))
    queue.put(delta("b", 1, initial=True))
    first, second = await queue.take()
    assert isinstance(first, Delta) and isinstance(second, Delta)
    assert (first.initial, second.initial) == (False, True)


async def test_nothing_overtakes_the_end_of_a_list() -> None:
    queue = DeltaQueue()
    queue.put(delta("a", 1, gone=True))
    queue.put(Replaced("", {ObjectKey("", "b")}, "2"))
    queue.put(delta("a", 3))
    assert told(await queue.take()) == ["-a1", "replaced", "a3"]


async def test_reflectors_wait_when_too_much_does() -> None:
    queue = DeltaQueue(capacity=2)
    queue.put(delta("a", 1))
    await queue.room()
    queue.put(delta("b", 1))
    waiting = asyncio.ensure_future(queue.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    await queue.take()
    await waiting


async def test_taking_waits_for_something() -> None:
    queue = DeltaQueue()
    taking = asyncio.ensure_future(queue.take())
    await asyncio.sleep(0)
    assert not taking.done()
    queue.put(delta("a", 1))
    assert told(await taking) == ["a1"]
