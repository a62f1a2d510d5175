"""Scaling while a rollout is paused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.core.builders import EPOCH

from kapstan.cluster.core.machinedeployment.proportion import scaled
from kapstan.cluster.core.machinedeployment.rollout import Bounds, SetState


def a_state(name: str, wanted: int, age: int = 0, available: int | None = None) -> SetState:
    return SetState(name, EPOCH - timedelta(hours=age), wanted, wanted, wanted if available is None else available)


@pytest.mark.parametrize(
    ("limits", "new", "old", "sizes"),
    [
        pytest.param(Bounds(5, 1, 0), None, [a_state("o", 3)], {"o": 5}, id="one set takes all"),
        pytest.param(Bounds(5, 1, 0), a_state("n", 0), [a_state("o", 3)], {"o": 5}, id="also if it is the old one"),
        pytest.param(Bounds(2, 1, 0), a_state("n", 0), [a_state("o", 0)], {"n": 2}, id="if none has any, the new one"),
        pytest.param(Bounds(3, 1, 0), a_state("n", 3), [a_state("o", 1)], {"o": 0}, id="done: the old one goes"),
        pytest.param(Bounds(9, 3, 0), a_state("n", 2), [a_state("o", 4)], {"o": 8, "n": 4}, id="each its part"),
        pytest.param(Bounds(0, 0, 0), a_state("n", 2), [a_state("o", 4)], {"o": 0, "n": 0}, id="down to nothing"),
        pytest.param(Bounds(5, 1, 0), a_state("n", 2), [a_state("o", 4)], {}, id="nothing to do"),
    ],
)
def test_sizes(limits: Bounds, new: SetState | None, old: list[SetState], sizes: dict[str, int]) -> None:
    assert scaled(limits, new, old, {}, rolls=True) == sizes


def test_without_a_rolling_update_several_sets_are_left_alone() -> None:
    assert scaled(Bounds(9, 1, 0), a_state("n", 2), [a_state("o", 4)], {}, rolls=False) == {}


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 30), st.integers(0, 3))
def test_the_whole_is_what_is_wanted(sizes: list[int], replicas: int, surge: int) -> None:
    """Whatever the parts are, together they are as many as there may be, and nobody changes against the direction."""
    old = [a_state(f"o{index}", size, age=index, available=0) for index, size in enumerate(sizes)]
    total, before = replicas + surge, sum(sizes)
    found = scaled(Bounds(replicas, surge, 0), None, old, {}, rolls=True)
    after = {state.name: found.get(state.name, state.wanted) for state in old}
    assert sum(after.values()) == total
    assert all((after[state.name] - state.wanted) * (total - before) >= 0 for state in old)
