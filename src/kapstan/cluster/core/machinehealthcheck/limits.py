"""Limits: whether remediation may go on, given how many machines are not healthy. Pure.

Many unhealthy machines at once mean that something larger is wrong, which replacing machines makes worse. Machines that
have not started yet, or that are going, count as not healthy.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kapstan.cluster.api.core.common import RemediationTrigger
from kapstan.machinery.meta import IntOrString
from kapstan.runtime.reconcile import TerminalError

__all__ = ("Allowance", "allowance", "is_share")

_ALL = "100%"
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")
_PERCENTAGE = re.compile(r"([+-]?\d+)%")


class Allowance(NamedTuple):
    """Whether machines may be remediated, and how many more may become unhealthy before they may not."""

    allowed: bool
    left: int
    message: str = ""  # why not


def allowance(trigger: RemediationTrigger | None, expected: int, healthy: int) -> Allowance:
    """What a trigger says of these numbers. A range outweighs a limit."""
    trigger = trigger or RemediationTrigger()
    unhealthy = expected - healthy
    if trigger.unhealthy_in_range is not None:
        low, high = _range(trigger.unhealthy_in_range)
        broken = "does not fall within the range"
        named = f"unhealthyRange: {trigger.unhealthy_in_range}"
    else:
        limit = trigger.unhealthy_less_than_or_equal_to
        limit = _ALL if limit is None else limit
        low, high = 0, _share(limit, expected)
        broken = "exceeds maxUnhealthy"
        named = f"maxUnhealthy: {limit}"
    if low <= unhealthy <= high:
        return Allowance(True, high - unhealthy)
    numbers = f"total: {expected}, unhealthy: {unhealthy}, {named}"
    message = f"Remediation is not allowed, the number of not started or unhealthy machines {broken} ({numbers})"
    return Allowance(False, 0, message)


def is_share(value: IntOrString) -> bool:
    """Whether a limit is a number or a percentage."""
    return isinstance(value, int) or _PERCENTAGE.fullmatch(value) is not None


def _share(value: IntOrString, total: int) -> int:
    """A number, or a percentage of the total, rounded down."""
    if isinstance(value, int):
        return value
    match = _PERCENTAGE.fullmatch(value)
    if match is None:
        raise TerminalError(
            f"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo is {value!r}; "
            "make it a number or a percentage such as 40%"
        )
    return int(match[1]) * total // 100


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    low, high = (int(match[1]), int(match[2])) if match else (1, 0)
    if low > high:
        raise TerminalError(
            f"spec.remediation.triggerIf.unhealthyInRange is {text!r}; make it a range such as [3-5], "
            "the smaller number first"
        )
    return low, high
