"""Conditions: set, read and summarise them without ever moving a transition time that did not change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kapstan.machinery.meta import Condition, ConditionStatus, now

__all__ = ("find", "is_false", "is_true", "remove", "set_condition", "summary", "truth")


def find(conditions: Iterable[Condition], type: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type), None)


def is_true(conditions: Iterable[Condition], type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.status == "True"


def is_false(conditions: Iterable[Condition], type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.status == "False"


def truth(value: bool | None) -> ConditionStatus:
    """True, False, or Unknown for None."""
    return "Unknown" if value is None else "True" if value else "False"


def set_condition(
    conditions: list[Condition],
    type: str,
    status: bool | ConditionStatus | None,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    at: datetime | None = None,
) -> bool:
    """Set one condition in place; True if anything changed. The transition time moves only when the status does."""
    wanted = status if isinstance(status, str) else truth(status)
    new = Condition(type=type, status=wanted, reason=reason, message=message, observed_generation=observed_generation)
    old = find(conditions, type)
    if old is None:
        new.last_transition_time = at or now()
        conditions.append(new)
        return True
    new.last_transition_time = old.last_transition_time if old.status == wanted else at or now()
    if new == old:
        return False
    conditions[conditions.index(old)] = new
    return True


def remove(conditions: list[Condition], type: str) -> bool:
    """Take one condition away; True if it was there."""
    before = len(conditions)
    conditions[:] = [condition for condition in conditions if condition.type != type]
    return len(conditions) != before


def summary(
    conditions: Sequence[Condition],
    type: str,
    of: Sequence[str],
    *,
    negative: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Condition:
    """One condition that says whether all of the others are well, and if not which and why.

    Those in `negative` are well when False (`Deleting`); those in `optional` are ignored while absent, while any other
    that is absent counts as Unknown. An issue outweighs an unknown, an unknown outweighs what is well.
    """
    issues: list[Condition] = []
    unknown: list[Condition] = []
    for name in of:
        found = find(conditions, name)
        if found is None:
            if name not in optional:
                unknown.append(Condition(type=name, status="Unknown", message="not reported yet"))
        elif found.status == "Unknown":
            unknown.append(found)
        elif (found.status == "True") is (name in negative):
            issues.append(found)
    status: ConditionStatus = "False" if issues else "Unknown" if unknown else "True"
    reason = {"False": "NotReady", "Unknown": "Unknown", "True": "Ready"}[status]
    told = issues + unknown
    if len(told) == 1 and told[0].reason:
        reason = told[0].reason
    lines = [f"* {item.type}: {item.message or item.reason}" for item in told]
    return Condition(type=type, status=status, reason=reason, message="\n".join(lines))
