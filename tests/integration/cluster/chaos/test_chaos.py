"""Managers die at any write, answers are lost; the cluster always becomes what it shall be, and nothing is twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.goodbyes import goodbyes as goodbyes

from kapstan.client.transport import Request
from kapstan.cluster.management import KINDS
from kapstan.testing import Environment

from .faults import Fault, Faults, Overload, Plan, never
from .life import NEW, Life

WRITES = 100  # at which a fault is tried


@pytest.fixture
async def life(embedded: Environment, tmp_path: Path) -> Life:
    await embedded.install(*KINDS)
    return Life(embedded, await embedded.namespace(), tmp_path)


async def live(life: Life, plan: Plan | Faults) -> None:
    """Provisioning, scaling both ways, a rollout, the end: and at no moment more machines than there may be."""
    async with life.managed(lambda: plan if isinstance(plan, Faults) else Faults(plan)):
        await life.create(workers=2)
        await life.settled(2)
        assert life.most == 2
        await life.scale(3)
        await life.settled(3)
        assert life.most == 3
        await life.scale(1)
        await life.settled(1)
        await life.roll_out(NEW)
        await life.settled(1, NEW)
        assert life.most == 3
        await life.delete()
        await life.gone()
        if isinstance(plan, Overload):
            await plan.settle()
            await life.gone()


async def test_a_life_without_faults(life: Life) -> None:
    """What the others are compared with. It takes more writes than those at which the faults are."""
    await live(life, never)
    assert life.deaths == 0
    assert life.writes > WRITES


@pytest.mark.parametrize(
    ("fault", "every"),
    [
        (Fault.DIES_BEFORE, 17),
        (Fault.DIES_AFTER, 11),
        pytest.param(Fault.DIES_BEFORE, 6, marks=pytest.mark.slow),
        pytest.param(Fault.DIES_AFTER, 5, marks=pytest.mark.slow),
    ],
)
async def test_managers_that_die_after_a_few_writes(life: Life, fault: Fault, every: int) -> None:
    """One follows the other; each takes the cluster a little further."""
    await live(life, lambda number, request: fault if number >= every else None)
    assert life.deaths > 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, WRITES + 1))
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name)
async def test_one_fault_at_each_write_of_a_life(life: Life, fault: Fault, number: int) -> None:
    """The first manager meets it, and whoever comes after it meets none."""
    struck = False

    def plan(write: int, request: Request) -> Fault | None:
        nonlocal struck
        if struck or write != number:
            return None
        struck = True
        return fault

    await live(life, plan)
    assert struck
    assert life.deaths == (fault is not Fault.ANSWER_LOST)


async def test_objects_are_made_but_the_manager_never_hears_of_it(life: Life) -> None:
    """Every other create times out on the client, and has succeeded on the server."""
    creates = 0

    def plan(number: int, request: Request) -> Fault | None:
        nonlocal creates
        creates += request.method == "POST"
        return Fault.ANSWER_LOST if request.method == "POST" and creates % 2 else None

    await live(life, plan)
    assert creates > 4


async def test_every_third_answer_is_lost(life: Life) -> None:
    await live(life, lambda number, request: Fault.ANSWER_LOST if number % 3 == 0 else None)


@pytest.mark.parametrize(
    ("seed", "chance"), [(1, 0.08), *(pytest.param(seed, 0.2, marks=pytest.mark.slow) for seed in range(2, 11))]
)
async def test_an_overloaded_api_server(life: Life, seed: int, chance: float) -> None:
    """Requests go wrong in one way or another, also after the manager has given up on them, and the caches lag behind.
    Machines and their computers still come in pairs."""
    overload = Overload(seed, chance=chance)
    await live(life, overload)
    assert overload.faults > 3, "with fewer it shows nothing; how many there are depends on how many requests are made"
