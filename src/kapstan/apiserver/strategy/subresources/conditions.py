"""Conditions of pods, as the server sets them."""

from __future__ import annotations

from typing import Any

__all__ = ("set_pod_condition",)

Object = dict[str, Any]


def set_pod_condition(pod: Object, condition: Object, now: str) -> None:
    """Set a condition; its time changes only with its status."""
    status = pod.setdefault("status", {})
    conditions = status.get("conditions") or []
    old = next((one for one in conditions if one["type"] == condition["type"]), None)
    time = old.get("lastTransitionTime") if old is not None and old.get("status") == condition["status"] else now
    made = {"lastProbeTime": None, "lastTransitionTime": time, **condition}
    if old is None:
        status["conditions"] = [*conditions, made]
    else:
        status["conditions"] = [made if one is old else one for one in conditions]
