"""The status of a set, computed from what the phases saw. Pure."""

from __future__ import annotations

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machines import machines_ready, machines_up_to_date, remediating, with_delays
from kapstan.cluster.core.machineset.members import selector_of
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.versions import counted
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, put, true, true_on, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
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
    _count(scope, scope.machines)
    for condition in (
        machines_ready(ConditionType.MACHINES_READY, scope.machines),
        machines_up_to_date(ConditionType.MACHINES_UP_TO_DATE, scope.machines),
        scaling_up(scope, len(scope.machines)),
        scaling_down(scope, scope.machines),
        remediating(scope.machines, by="MachineSet"),
        _deleting(scope, scope.machines),
    ):
        put(machine_set, condition)
    return None


def _count(scope: Scope, machines: list[Machine]) -> None:
    """A machine that is being changed in place is none that one can count on."""
    steady = [machine for machine in machines if labels.UPDATE_IN_PROGRESS not in machine.metadata.annotations]

    def having(type: str) -> int:
        return sum(true_on(machine, type) for machine in steady)

    status = scope.machine_set.status
    status.selector = str(selector_of(scope.machine_set))
    status.replicas = len(machines)
    status.ready_replicas = having(ConditionType.READY)
    status.available_replicas = having(ConditionType.AVAILABLE)
    status.up_to_date_replicas = having(ConditionType.UP_TO_DATE)
    status.versions = counted(machines)


def scaling_up(scope: Scope, current: int) -> Condition:
    type, machine_set = ConditionType.SCALING_UP, scope.machine_set
    wanted = _wanted(scope)
    if wanted is None:
        return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    missing = scope.templates.missing
    if current >= wanted:
        would = f"Scaling up would be blocked because {missing}" if missing and not machine_set.deleting else ""
        return false(type, Reason.NOT_SCALING_UP, would)
    message = f"Scaling up from {current} to {wanted} replicas"
    why = [*scope.blocked, *([missing] if missing else [])]
    if why:
        message += " is blocked because:\n" + "\n".join(f"* {text}" for text in why)
    return true(type, Reason.SCALING_UP, message)


def scaling_down(scope: Scope, machines: list[Machine]) -> Condition:
    type, wanted = ConditionType.SCALING_DOWN, _wanted(scope)
    if wanted is None:
        return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    if len(machines) <= wanted:
        return false(type, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {len(machines)} to {wanted} replicas"
    return true(type, Reason.SCALING_DOWN, with_delays(message, machines))


def _wanted(scope: Scope) -> int | None:
    return 0 if scope.machine_set.deleting else scope.machine_set.spec.replicas


def _deleting(scope: Scope, machines: list[Machine]) -> Condition:
    type = ConditionType.DELETING
    if not scope.machine_set.deleting:
        return false(type, Reason.NOT_DELETING)
    if not machines:
        return true(type, Reason.DELETING, "Deletion completed")
    message = f"Deleting {len(machines)} Machine{'' if len(machines) == 1 else 's'}"
    return true(type, Reason.DELETING, with_delays(message, machines))
