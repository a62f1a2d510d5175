"""How many machines may be unhealthy for remediation to go on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.api.core.common import RemediationTrigger
from kapstan.cluster.core.machinehealthcheck.limits import allowance
from kapstan.machinery.codec import convert
from kapstan.runtime.reconcile import TerminalError


def a_trigger(**fields: Any) -> RemediationTrigger:
    return convert(fields, RemediationTrigger)


@pytest.mark.parametrize(
    ("trigger", "expected", "healthy", "allowed", "left"),
    [
        pytest.param(None, 3, 0, True, 0, id="everything by default"),
        pytest.param(a_trigger(unhealthyLessThanOrEqualTo=2), 5, 3, True, 0, id="as many as may be"),
        pytest.param(a_trigger(unhealthyLessThanOrEqualTo=2), 5, 2, False, 0, id="one too many"),
        pytest.param(a_trigger(unhealthyLessThanOrEqualTo=0), 5, 5, True, 0, id="none, and none is"),
        pytest.param(a_trigger(unhealthyLessThanOrEqualTo="40%"), 4, 3, True, 0, id="percentages round down"),
        pytest.param(a_trigger(unhealthyLessThanOrEqualTo="40%"), 4, 2, False, 0, id="beyond a percentage"),
        pytest.param(a_trigger(unhealthyInRange="[1-3]"), 9, 8, True, 2, id="in a range"),
        pytest.param(a_trigger(unhealthyInRange="[1-3]"), 9, 9, False, 0, id="below a range"),
        pytest.param(a_trigger(unhealthyInRange="[1-3]"), 9, 5, False, 0, id="above a range"),
        pytest.param(
            a_trigger(unhealthyInRange="[1-3]", unhealthyLessThanOrEqualTo=0), 9, 8, True, 2, id="a range outweighs"
        ),
    ],
)
def test_allowance(trigger: RemediationTrigger | None, expected: int, healthy: int, allowed: bool, left: int) -> None:
    found = allowance(trigger, expected, healthy)
    assert (found.allowed, found.left) == (allowed, left)


def test_what_is_not_allowed_is_explained() -> None:
    told = allowance(a_trigger(unhealthyLessThanOrEqualTo="40%"), 4, 1).message
    assert told == (
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
        "(total: 4, unhealthy: 3, maxUnhealthy: 40%)"
    )
    told = allowance(a_trigger(unhealthyInRange="[3-5]"), 4, 4).message
    assert told == (
        "Remediation is not allowed, the number of not started or unhealthy machines does not fall within the range "
        "(total: 4, unhealthy: 0, unhealthyRange: [3-5])"
    )


def test_what_is_no_limit_is_refused_with_what_to_do() -> None:
    with pytest.raises(TerminalError, match="is '3'; make it a number or a percentage such as 40%"):
        allowance(a_trigger(unhealthyLessThanOrEqualTo="3"), 4, 4)
    with pytest.raises(TerminalError, match=r"is '\[5-3\]'; make it a range such as \[3-5\]"):
        allowance(a_trigger(unhealthyInRange="[5-3]"), 4, 4)


@given(limit=st.integers(0, 20), expected=st.integers(0, 20), share=st.floats(0, 1))
def test_never_more_than_allowed(limit: int, expected: int, share: float) -> None:
    healthy = int(expected * share)
    found = allowance(a_trigger(unhealthyLessThanOrEqualTo=limit), expected, healthy)
    assert found.allowed is (expected - healthy <= limit)
    assert 0 <= found.left <= limit
