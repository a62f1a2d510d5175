"""Rollouts: each step by itself, and whole rollouts with machines that come, fail and go as they please."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.core.machinedeployment.rollout import Bounds, SetState, bounds, on_delete, rolling_update

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def a_set(name: str, wanted: int, actual: int | None = None, available: int | None = None, age: int = 0) -> SetState:
    actual = wanted if actual is None else actual
    return SetState(name, EPOCH + timedelta(hours=age), wanted, actual, actual if available is None else available)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(3, None, None, Bounds(3, 1, 0), id="defaults"),
        pytest.param(10, "25%", "25%", Bounds(10, 3, 2), id="surge up, unavailable down"),
        pytest.param(1, 0, "1%", Bounds(1, 0, 1), id="one may be missing if both come to nothing"),
        pytest.param(2, 5, 9, Bounds(2, 5, 2), id="no more missing than there are"),
    ],
)
def test_bounds(replicas: int, surge: int | str | None, unavailable: int | str | None, expected: Bounds) -> None:
    assert bounds(replicas, surge, unavailable) == expected


@pytest.mark.parametrize("text", ["many", "5", "-1%", "1.5%"])
def test_bounds_that_are_no_percentage_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a number nor a percentage"):
        bounds(3, text, 0)


@pytest.mark.parametrize(
    ("limits", "new", "old", "sizes"),
    [
        pytest.param(Bounds(3, 1, 0), a_set("new", 0), [a_set("old", 3)], {"new": 1}, id="begins with the surge"),
        pytest.param(Bounds(3, 1, 0), a_set("new", 1, 1, 0), [a_set("old", 3)], {}, id="waits for the new machine"),
        pytest.param(Bounds(3, 1, 0), a_set("new", 1), [a_set("old", 3)], {"old": 2}, id="gives up one it can spare"),
        pytest.param(Bounds(3, 1, 0), a_set("new", 1), [a_set("old", 2, 3)], {}, id="waits for the old one to go"),
        pytest.param(Bounds(3, 0, 1), a_set("new", 0), [a_set("old", 3)], {"old": 2}, id="begins by taking away"),
        pytest.param(Bounds(3, 1, 0), a_set("new", 3), [], {}, id="done"),
        pytest.param(Bounds(1, 1, 0), a_set("new", 3), [], {"new": 1}, id="scaled down"),
        pytest.param(
            Bounds(3, 0, 1),
            a_set("new", 0),
            [a_set("younger", 2, age=1), a_set("older", 1)],
            {"older": 0},
            id="the oldest set goes first",
        ),
        pytest.param(
            Bounds(4, 0, 2),
            a_set("new", 0),
            [a_set("older", 2), a_set("younger", 2, 2, 0, age=1)],
            {"younger": 0},
            id="the unavailable go first",
        ),
        pytest.param(Bounds(3, 1, 0), a_set("new", 1), [a_set("old", 3, 3, 2)], {"old": 2}, id="a deadlock is broken"),
        pytest.param(
            Bounds(3, 1, 0), a_set("new", 1, 1, 0), [a_set("old", 3, 3, 2)], {}, id="but not while the new ones fail"
        ),
    ],
)
def test_a_step(limits: Bounds, new: SetState, old: list[SetState], sizes: dict[str, int]) -> None:
    assert rolling_update(limits, new, old) == sizes


@pytest.mark.parametrize(
    ("replicas", "new", "old", "sizes"),
    [
        pytest.param(3, a_set("new", 0), [a_set("old", 3)], {}, id="old machines stay"),
        pytest.param(3, a_set("new", 0), [a_set("old", 3, 2)], {"old": 2}, id="a deleted one is not made again"),
        pytest.param(
            *(3, a_set("new", 0), [a_set("old", 3)._replace(going=1)], {"old": 2}),
            id="nor one that is being deleted",
        ),
        pytest.param(
            *(3, a_set("new", 0), [a_set("old", 2, 3)._replace(going=1)], {}),
            id="whose place is taken when it is gone",
        ),
        pytest.param(3, a_set("new", 0), [a_set("old", 2)], {"new": 1}, id="the new set takes its place"),
        pytest.param(1, a_set("new", 1), [a_set("old", 2)], {"old": 0}, id="scaled down, the old go first"),
    ],
)
def test_a_step_on_delete(replicas: int, new: SetState, old: list[SetState], sizes: dict[str, int]) -> None:
    assert on_delete(replicas, new, old) == sizes


class Fleet:
    """Machines of two generations, which a MachineSet controller makes and deletes one at a time."""

    def __init__(self, replicas: int, broken: int) -> None:
        self.wanted = {"old": replicas, "new": 0}
        self.machines = {"old": [index >= broken for index in range(replicas)], "new": []}  # whether each is available

    def state(self, name: str, age: int) -> SetState:
        machines = self.machines[name]
        return SetState(name, EPOCH + timedelta(hours=age), self.wanted[name], len(machines), sum(machines))

    @property
    def total(self) -> int:
        return sum(len(machines) for machines in self.machines.values())

    @property
    def available(self) -> int:
        return sum(sum(machines) for machines in self.machines.values())


@given(
    replicas=st.integers(1, 6),
    surge=st.integers(0, 3),
    unavailable=st.integers(0, 3),
    broken=st.integers(0, 2),
    chaos=st.lists(st.booleans(), max_size=60),
)
def test_a_whole_rollout_stays_in_bounds_and_ends(
    replicas: int, surge: int, unavailable: int, broken: int, chaos: list[bool]
) -> None:
    """Deletions take the worst machine, work stops halfway: nothing leaves the bounds, and it comes to an end."""
    limits = bounds(replicas, surge, unavailable)
    fleet = Fleet(replicas, min(broken, replicas))
    works = iter(chaos)
    for _ in range(100):
        old = fleet.state("old", 0)
        broken_before = old.available < old.actual
        fleet.wanted |= rolling_update(limits, fleet.state("new", 1), [old])
        _settle(fleet, works)
        assert fleet.total <= limits.most
        assert broken_before or fleet.available >= limits.least_available
        if fleet.wanted == {"old": 0, "new": replicas} and not fleet.machines["old"] and fleet.available == replicas:
            return
    pytest.fail(f"did not end: {fleet.wanted} {fleet.machines}")


def _settle(fleet: Fleet, works: Iterator[bool]) -> None:
    """The MachineSet controllers work, not always to the end; once the chaos is over, they always do."""
    for name, machines in fleet.machines.items():
        wanted = fleet.wanted[name]
        while len(machines) > wanted and next(works, True):
            machines.remove(max(machines))  # an available one, if there is any
        while len(machines) < wanted and next(works, True):
            machines.append(False)
        if name == "new" and next(works, True):
            machines[:] = [True] * len(machines)
