"""The status of a deployment, computed from what the phases saw. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.machinedeployment import MachineDeploymentPhase
from kapstan.cluster.core.machinedeployment.desired import limits_of
from kapstan.cluster.core.machinedeployment.plan import machines_of, rolls
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machinedeployment.sets import selector_of
from kapstan.cluster.core.machines import machines_ready, machines_up_to_date, remediating, with_delays
from kapstan.cluster.core.versions import counted
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true, true_on, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
from kapstan.runtime.reconcile import Outcome

__all__ = ("observe",)

_UNREAD = (
    ConditionType.AVAILABLE,
    ConditionType.SCALING_UP,
    ConditionType.SCALING_DOWN,
    ConditionType.DELETING,
)


def observe(scope: Scope) -> Outcome:
    """Set phase, counters and conditions; unknown if the sets could not be listed."""
    deployment = scope.deployment
    if scope.sets is None:
        deployment.status.phase = "Unknown"
        for type in _UNREAD:
            put(deployment, unknown(type, Reason.INTERNAL_ERROR, "Please check controller logs for errors"))
        return None
    machines = [machine for machine_set in scope.sets for machine in machines_of(machine_set, scope.machines)]
    _count(scope, machines)
    deployment.status.phase = _phase(scope, len(machines))
    for condition in (
        _available(scope),
        rolling_out(machines),
        _scaling_up(scope, len(machines)),
        _scaling_down(scope, machines),
        machines_ready(ConditionType.MACHINES_READY, machines),
        machines_up_to_date(ConditionType.MACHINES_UP_TO_DATE, machines),
        remediating(machines, by="MachineDeployment/MachineSet"),
        _deleting(scope, machines),
    ):
        put(deployment, condition)
    return None


def _count(scope: Scope, machines: Sequence[Machine]) -> None:
    steady = [machine for machine in machines if labels.UPDATE_IN_PROGRESS not in machine.metadata.annotations]

    def having(type: str) -> int:
        return sum(true_on(machine, type) for machine in steady)

    status = scope.deployment.status
    status.selector = str(selector_of(scope.deployment))
    status.replicas = len(machines)
    status.ready_replicas = having(ConditionType.READY)
    status.available_replicas = having(ConditionType.AVAILABLE)
    status.up_to_date_replicas = having(ConditionType.UP_TO_DATE)
    status.versions = counted(machines)


def _phase(scope: Scope, current: int) -> MachineDeploymentPhase:
    wanted = scope.deployment.spec.replicas
    if wanted is None:
        return "Unknown"
    if scope.deployment.deleting or current > wanted:
        return "ScalingDown"
    return "ScalingUp" if current < wanted else "Running"


# --- Conditions -------------------------------------------------------------------------------------------------------


def _available(scope: Scope) -> Condition:
    type, deployment = ConditionType.AVAILABLE, scope.deployment
    wanted, available = deployment.spec.replicas, deployment.status.available_replicas or 0
    if wanted is None:
        return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    limits = limits_of(deployment)
    least = limits.least_available if rolls(deployment) else wanted
    if available >= least:
        return true(type, Reason.AVAILABLE)
    if deployment.deleting:
        return false(type, Reason.NOT_AVAILABLE, "Deletion in progress")
    message = f"{available} available replicas, at least {least} required"
    if rolls(deployment):
        rollout = deployment.spec.rollout
        strategy = rollout.strategy if rollout is not None else None
        rolling = strategy.rolling_update if strategy is not None else None
        given = 0 if rolling is None or rolling.max_unavailable is None else rolling.max_unavailable
        message += f" (spec.strategy.rollout.maxUnavailable is {given}, spec.replicas is {wanted})"
    return false(type, Reason.NOT_AVAILABLE, message)


def rolling_out(machines: Sequence[Machine]) -> Condition:
    """True while there are machines that are not as wanted; a change of version is told first."""
    type = ConditionType.ROLLING_OUT
    said = [get(machine, ConditionType.UP_TO_DATE) for machine in machines]
    old = [condition for condition in said if condition is not None and condition.status == "False"]
    if not old:
        return false(type, Reason.NOT_ROLLING_OUT)
    reasons = {line for condition in old if condition.message for line in condition.message.split("\n")}
    ordered = sorted(reasons, key=lambda line: (not line.startswith("* Version"), line))
    return true(type, Reason.ROLLING_OUT, "\n".join([f"Rolling out {len(old)} not up-to-date replicas", *ordered]))


def _scaling_up(scope: Scope, current: int) -> Condition:
    type, wanted, missing = ConditionType.SCALING_UP, _wanted(scope), scope.templates.missing
    if wanted is None:
        return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    if current >= wanted:
        told = f"Scaling up would be blocked because {missing}" if missing and not scope.deployment.deleting else ""
        return false(type, Reason.NOT_SCALING_UP, told)
    blocked = f" is blocked because {missing}" if missing else ""
    return true(type, Reason.SCALING_UP, f"Scaling up from {current} to {wanted} replicas{blocked}")


def _scaling_down(scope: Scope, machines: Sequence[Machine]) -> Condition:
    type, wanted = ConditionType.SCALING_DOWN, _wanted(scope)
    if wanted is None:
        return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    if len(machines) <= wanted:
        return false(type, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {len(machines)} to {wanted} replicas"
    return true(type, Reason.SCALING_DOWN, with_delays(message, machines))


def _wanted(scope: Scope) -> int | None:
    return 0 if scope.deployment.deleting else scope.deployment.spec.replicas


def _deleting(scope: Scope, machines: Sequence[Machine]) -> Condition:
    type = ConditionType.DELETING
    if not scope.deployment.deleting:
        return false(type, Reason.NOT_DELETING)
    if machines:
        message = f"Deleting {len(machines)} Machine{'' if len(machines) == 1 else 's'}"
        return true(type, Reason.DELETING, with_delays(message, machines))
    return true(
        type, Reason.DELETING, f"Deleting {len(scope.sets)} MachineSets" if scope.sets else "Deletion completed"
    )
