"""Rate limiters: how long failing keys wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kapstan.runtime.clock import FakeClock
from kapstan.runtime.ratelimiter import Bucket, bucket, exponential, max_of


def test_exponential_doubles_from_five_milliseconds_to_a_thousand_seconds() -> None:
    limiter = exponential()
    waits = [limiter.when("a") for _ in range(30)]
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[-1] == 1000
    assert limiter.retries("a") == 30


def test_exponential_never_overflows() -> None:
    limiter = exponential(1, 10)
    assert [limiter.when("a") for _ in range(2000)][-1] == 10


def test_forgetting_starts_over() -> None:
    limiter = exponential()
    for _ in range(5):
        limiter.when("a")
    limiter.forget("a")
    assert limiter.retries("a") == 0
    assert limiter.when("a") == 0.005


def test_keys_do_not_share_a_back_off() -> None:
    limiter = exponential()
    limiter.when("a")
    assert limiter.when("b") == 0.005


def test_bucket_lets_a_burst_through_then_its_rate() -> None:
    clock = FakeClock()
    limiter = Bucket(10, 3, clock.time)
    assert [limiter.when(key) for key in "abcde"] == [0, 0, 0, 0.1, 0.2]
    clock.advance(0.2)
    assert limiter.when("f") == pytest.approx(0.1)


def test_bucket_refills_no_further_than_its_burst() -> None:
    clock = FakeClock()
    limiter = Bucket(10, 2, clock.time)
    clock.advance(1000)
    assert [limiter.when(key) for key in "abc"] == [0, 0, 0.1]


def test_the_strictest_of_several_decides() -> None:
    clock = FakeClock()
    limiter = max_of(exponential(0.005, 1), Bucket(1, 1, clock.time))
    assert limiter.when("a") == 0.005
    assert limiter.when("a") == 1
    assert limiter.retries("a") == 2
    limiter.forget("a")
    assert limiter.retries("a") == 0


@pytest.mark.parametrize("wrong", [lambda: exponential(0, 1), lambda: exponential(2, 1), lambda: bucket(0, 1), max_of])
def test_nonsense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="needs"):
        wrong()
