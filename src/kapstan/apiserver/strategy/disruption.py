"""Disruption budgets: what the eviction of a pod and the controller of budgets both need to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.machinery import labels

__all__ = ("is_ready", "selects", "with_condition")

Object = dict[str, Any]

_TYPE = "DisruptionAllowed"


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one.get("status") == "True" for one in conditions)


def selects(budget: Object, pod_labels: Mapping[str, str] | None) -> bool:
    """Whether a budget is about a pod with these labels."""
    try:
        return labels.from_label_selector(budget["spec"].get("selector")).matches(pod_labels)
    except labels.InvalidSelector:
        return False


def with_condition(status: Object, now: str, *, failure: str | None = None) -> Object:
    """A budget's status with the condition that sums it up; `failure` says why it could not be worked out."""
    allowed = status.get("disruptionsAllowed", 0) > 0 and failure is None
    reason = "SyncFailed" if failure is not None else "SufficientPods" if allowed else "InsufficientPods"
    value = "True" if allowed else "False"
    conditions = status.get("conditions") or []
    old = next((one for one in conditions if one["type"] == _TYPE), None)
    time = old["lastTransitionTime"] if old is not None and old.get("status") == value else now
    made = {
        "type": _TYPE,
        "status": value,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": time,
        "reason": reason,
        "message": failure or "",
    }
    if not made["observedGeneration"]:
        del made["observedGeneration"]
    others = [one for one in conditions if one["type"] != _TYPE]
    return {**status, "conditions": [*others, made]}
