"""Chance follows from an object's uid: always the same for one, spread evenly over many."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.api.infrastructure.simulatedmachine import Failure
from kapstan.cluster.api.infrastructure.timing import Timing
from kapstan.cluster.infrastructure.simulated.fate import chance, duration, happens

uids = st.uuids().map(str)
MANY = [str(UUID(int=number)) for number in range(2000)]


@given(uids, st.text())
def test_chance_is_the_same_each_time_and_below_one(uid: str, what: str) -> None:
    assert chance(uid, what) == chance(uid, what)
    assert 0 <= chance(uid, what) < 1


@given(uids, st.integers(0, 86400), st.integers(0, 100))
def test_a_step_takes_its_delay_give_or_take_the_jitter(uid: str, delay: int, jitter: int) -> None:
    seconds = duration(Timing(delay_seconds=delay, jitter_percent=jitter), uid, "boot").total_seconds()
    assert delay * (1 - jitter / 100) - 1e-6 <= seconds <= delay * (1 + jitter / 100) + 1e-6


def test_what_nobody_timed_takes_no_time() -> None:
    assert duration(None, "a", "boot") == duration(Timing(jitter_percent=50), "a", "boot") == timedelta()


def test_jitter_differs_from_object_to_object_and_from_step_to_step() -> None:
    timing = Timing(delay_seconds=100, jitter_percent=20)
    assert len({duration(timing, uid, "boot") for uid in MANY}) > len(MANY) * 0.9
    assert duration(timing, MANY[0], "boot") != duration(timing, MANY[0], "deletion")


def test_a_failure_happens_to_as_many_as_it_says() -> None:
    hit = sum(happens(Failure(type="Dies", percent=30), uid) for uid in MANY)
    assert 0.25 < hit / len(MANY) < 0.35


@given(uids)
def test_a_failure_without_a_percentage_happens_to_all_and_one_of_none_to_nobody(uid: str) -> None:
    assert happens(Failure(type="Dies"), uid)
    assert not happens(Failure(type="Dies", percent=0), uid)
