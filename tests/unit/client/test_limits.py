"""Bounds: on our own rate, and on how often we try again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.client.failures import Failure
from kapstan.client.limiter import RateLimiter
from kapstan.client.retry import Retries, RetryPolicy, retry_on_conflict
from kapstan.machinery.errors import Conflict

from .conftest import Naps


async def test_a_burst_passes_and_the_rest_waits_its_turn(naps: Naps) -> None:
    limiter = RateLimiter(10, 2, clock=lambda: 0.0, sleep=naps)
    for _ in range(5):
        await limiter.take()
    assert naps.taken == pytest.approx([0.1, 0.2, 0.3])


async def test_a_bucket_fills_again_but_not_beyond_its_size(naps: Naps) -> None:
    now = 0.0
    limiter = RateLimiter(10, 2, clock=lambda: now, sleep=naps)
    await limiter.take()
    await limiter.take()
    now = 1000.0
    for _ in range(3):
        await limiter.take()
    assert naps.taken == pytest.approx([0.1])


failures = st.builds(Failure, why=st.just("x"), sent=st.booleans(), transient=st.booleans())


@given(
    st.lists(failures | st.tuples(st.sampled_from([409, 429, 500, 503]), st.sampled_from(["", "0", "1", "30", "x"]))),
    st.booleans(),
)
def test_waiting_is_bounded_and_nothing_is_repeated_that_could_do_harm(
    events: list[Failure | tuple[int, str]], idempotent: bool
) -> None:
    policy = RetryPolicy()
    retries = Retries(policy)
    waited, repeated = 0.0, 0
    for event in events:
        if isinstance(event, Failure):
            delay = retries.after_failure(event, idempotent=idempotent)
            safe = event.transient and (idempotent or not event.sent)
        else:
            delay = retries.after_refusal(*event, idempotent=idempotent)
            safe = event[0] in (429, 503) or (event[0] == 500 and idempotent)
        if delay is not None:
            assert safe
            waited += delay
            repeated += 1
    assert waited <= policy.longest
    assert repeated <= policy.lost + policy.waits


async def test_a_change_is_repeated_while_it_conflicts(naps: Naps) -> None:
    left = 3

    async def change() -> str:
        nonlocal left
        left -= 1
        if left:
            raise Conflict("the object has been modified")
        return "done"

    assert await retry_on_conflict(change, sleep=naps) == "done"
    assert len(naps.taken) == 2


async def test_the_last_conflict_is_raised(naps: Naps) -> None:
    calls = 0

    async def change() -> None:
        nonlocal calls
        calls += 1
        raise Conflict("always")

    with pytest.raises(Conflict, match="always"):
        await retry_on_conflict(change, attempts=3, sleep=naps)
    assert calls == 3
