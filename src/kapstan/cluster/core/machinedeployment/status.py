"""The status of a deployment, computed from what the phases saw. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.machinedeployment import MachineDeploymentPhase
from kapstan.cluster.core.machinedeployment.desired import limits_of
from kapstan.cluster.core.machinedeployment.plan import machines_of, rolls
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machines import machines_ready, machines_up_to_date, remediating
from kapstan.cluster.core.replicas import count, deleting, scaling_down, scaling_up, waiting_for_replicas
from kapstan.cluster.core.selection import selector_of
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true, unknown
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
    missing, sets = scope.templates.missing, len(scope.sets)
    count(deployment, machines, selector_of(deployment))
    deployment.status.phase = _phase(scope, len(machines))
    for condition in (
        _available(scope),
        rolling_out(machines),
        scaling_up(deployment, len(machines), missing=missing, blocked=f" {missing}" if missing else ""),
        scaling_down(deployment, machines),
        machines_ready(ConditionType.MACHINES_READY, machines),
        machines_up_to_date(ConditionType.MACHINES_UP_TO_DATE, machines),
        remediating(machines, by="MachineDeployment/MachineSet"),
        deleting(deployment, machines, rest=f"Deleting {sets} MachineSets" if sets else ""),
    ):
        put(deployment, condition)
    return None


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
        return waiting_for_replicas(type)
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
