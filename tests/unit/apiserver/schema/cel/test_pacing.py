"""Long evaluations let others have their turns, and find the same as if they had not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kapstan.apiserver.schema.cel.costs import CostExceeded, Meter
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.evaluate import PER_CALL_LIMIT, Program
from kapstan.apiserver.schema.cel.pacing import SLICE, unhurried

LIMIT = 10 * SLICE


def loop(size: int) -> Program:
    return Environment({}).compile(f"lists.range({size}).all(x, x >= 0)")


def evaluation(program: Program) -> Callable[[], object]:
    return lambda: program.eval({}, Meter(LIMIT))


@contextmanager
def turns() -> Iterator[list[int]]:
    """How often the event loop came round inside the block."""
    counted = [0]
    event_loop = asyncio.get_running_loop()

    def count() -> None:
        counted[0] += 1
        handle[0] = event_loop.call_soon(count)

    handle = [event_loop.call_soon(count)]
    yield counted
    handle[0].cancel()


async def test_others_have_a_turn_for_every_slice() -> None:
    meter = Meter(LIMIT)
    program = loop(20_000)
    program.eval({}, meter)
    slices = meter.used // SLICE
    assert slices > 3
    with turns() as counted:
        assert await unhurried(evaluation(program)) is True
    assert counted[0] >= slices - 1


async def test_what_is_short_is_done_at_once() -> None:
    with turns() as counted:
        assert await unhurried(evaluation(loop(10))) is True
    assert counted[0] == 0


async def test_many_short_ones_are_long_together() -> None:
    program = loop(1_000)
    with turns() as counted:
        assert all(await unhurried(lambda: [program.eval({}) for _ in range(50)]))
    assert counted[0] > 3


async def test_the_limit_holds_also_for_what_is_paced() -> None:
    with turns() as counted, pytest.raises(CostExceeded):
        await unhurried(evaluation(loop(60_000)))
    assert counted[0] > 3


async def test_the_cost_is_the_same() -> None:
    program = loop(20_000)
    plain = Meter(PER_CALL_LIMIT)
    program.eval({}, plain)
    paced: list[Meter] = []

    def work() -> object:
        paced.append(Meter(PER_CALL_LIMIT))
        return program.eval({}, paced[-1])

    await unhurried(work)
    assert len(paced) == 2, "tried at once, then begun anew"
    assert paced[-1].used == plain.used


async def test_several_take_turns_with_each_other() -> None:
    ended: list[str] = []

    async def run(name: str, size: int) -> None:
        await unhurried(evaluation(loop(size)))
        ended.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(run("long", 30_000))
        group.create_task(run("short", 10_000))
    assert ended == ["short", "long"]


async def test_one_that_nobody_waits_for_any_more_ends() -> None:
    finished: list[object] = []
    task = asyncio.create_task(unhurried(lambda: finished.append(loop(20_000).eval({}, Meter(LIMIT)))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == []
