"""Disruption budgets."""

from __future__ import annotations

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    conditions,
    label_selector,
    nonnegative,
    number_or_percent,
    selector_value,
    struct,
)
from kapstan.machinery.validation import FieldError, Path

__all__ = ("budget", "budget_status", "share_at_most_all")

_SPEC = Path("spec")
_STATUS = Path("status")
_UNHEALTHY_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def budget(obj: Object) -> Rules:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = struct(
            MinAvailable=least,
            Selector=selector_value(spec.get("selector")),
            MaxUnavailable=most,
            UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
        )
        yield FieldError.invalid(_SPEC, shown, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            yield from number_or_percent(spec[field], _SPEC.child(field))
            yield from share_at_most_all(spec[field], _SPEC.child(field))
    yield from label_selector(spec.get("selector"), _SPEC.child("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _UNHEALTHY_POLICIES:
        yield FieldError.not_supported(_SPEC.child("unhealthyPodEvictionPolicy"), policy, _UNHEALTHY_POLICIES)


def share_at_most_all(value: int | str, path: Path) -> Rules:
    """A percentage, if it is one, of no more than all."""
    if isinstance(value, str) and value[:-1].isdecimal() and value.endswith("%") and int(value[:-1]) > 100:
        yield FieldError.invalid(path, value, "must not be greater than 100%")


def budget_status(obj: Object, old: Object) -> Rules:
    status = obj.get("status") or {}
    yield from conditions(status.get("conditions"), _STATUS.child("conditions"))
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        yield from nonnegative(status.get(field, 0), _STATUS.child(field))
