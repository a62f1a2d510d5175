"""The status of a set, computed from what the phases saw. Pure."""

from __future__ import annotations

from kapstan.cluster.core.machines import machines_ready, machines_up_to_date, remediating
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.replicas import count, deleting, scaling_down, scaling_up
from kapstan.cluster.core.selection import selector_of
from kapstan.cluster.skeleton.conditions import ConditionType, put, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.runtime.reconcile import Outcome

__all__ = ("observe",)

_CONDITIONS = (
    ConditionType.MACHINES_READY,
    ConditionType.MACHINES_UP_TO_DATE,
    ConditionType.SCALING_UP,
    ConditionType.SCALING_DOWN,
    ConditionType.REMEDIATING,
    ConditionType.DELETING,
)


def observe(scope: Scope) -> Outcome:
    """Set counters and conditions; unknown if the machines could not be listed."""
    machine_set = scope.machine_set
    if scope.machines is None:
        for type in _CONDITIONS:
            put(machine_set, unknown(type, Reason.INTERNAL_ERROR, "Please check controller logs for errors"))
        return None
    count(machine_set, scope.machines, selector_of(machine_set))
    for condition in (
        machines_ready(ConditionType.MACHINES_READY, scope.machines),
        machines_up_to_date(ConditionType.MACHINES_UP_TO_DATE, scope.machines),
        scaling_up(machine_set, len(scope.machines), missing=scope.templates.missing, blocked=_blocked(scope)),
        scaling_down(machine_set, scope.machines),
        remediating(scope.machines, by="MachineSet"),
        deleting(machine_set, scope.machines),
    ):
        put(machine_set, condition)
    return None


def _blocked(scope: Scope) -> str:
    """Why no machine may be made at present, line by line."""
    missing = scope.templates.missing
    why = [*scope.blocked, *([missing] if missing else [])]
    return ":\n" + "\n".join(f"* {text}" for text in why) if why else ""
