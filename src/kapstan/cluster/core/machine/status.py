"""The status of a machine, computed from what the phases saw. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.machine import MachinePhase
from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.machine.nodestatus import node_conditions
from kapstan.cluster.core.machine.readiness import ready
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.core.mirror import Mirror
from kapstan.cluster.core.uptodate import differences, rollout_is_due
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true, true_on
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition, now
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("observe", "phase_of", "up_to_date")

_BOOTSTRAP = Mirror(ConditionType.BOOTSTRAP_CONFIG_READY, "Ready", "status.initialization.dataSecretCreated")
_INFRASTRUCTURE = Mirror(ConditionType.INFRASTRUCTURE_READY, "Ready", "status.initialization.provisioned")


def observe(scope: Scope) -> Outcome:
    """Set conditions and phase. Ready comes late, for it sums up the others, and Available follows from it."""
    machine = scope.machine
    for condition in (
        _bootstrap_ready(scope),
        _infrastructure_ready(scope),
        *node_conditions(scope, scope.clusters.health(scope.cluster.key)),
        _deleting(scope),
        _updating(machine),
    ):
        if condition is not None:
            put(machine, condition)
    current = up_to_date(scope)
    if current is not None:
        put(machine, current)
    put(machine, ready(machine))
    phase = phase_of(scope)
    if phase != machine.status.phase:
        machine.status.phase, machine.status.last_updated = phase, now()
    return _observe_available(machine)


def phase_of(scope: Scope) -> MachinePhase:
    """The latest that applies."""
    machine, known = scope.machine, scope.initialization
    if machine.deleting:
        return "Deleting"
    if true_on(machine, ConditionType.UPDATING):
        return "Updating"
    if machine.status.node_ref is not None and known.infrastructure_provisioned:
        return "Running"
    if machine.spec.provider_id:
        return "Provisioned"
    return "Provisioning" if known.bootstrap_data_secret_created else "Pending"


def _bootstrap_ready(scope: Scope) -> Condition | None:
    machine, type = scope.machine, ConditionType.BOOTSTRAP_CONFIG_READY
    if machine.spec.bootstrap.config_ref is None:
        return true(type, Reason.DATA_SECRET_PROVIDED)
    if scope.bootstrap is None:
        return None
    if scope.bootstrap.missing and not machine.deleting:
        return false(type, Reason.OBJECT_DOES_NOT_EXIST, f"{scope.bootstrap.kind} does not exist")
    return _BOOTSTRAP.of(scope.bootstrap, machine, done=bool(scope.initialization.bootstrap_data_secret_created))


def _infrastructure_ready(scope: Scope) -> Condition | None:
    if scope.infrastructure is None:
        return None
    done = bool(scope.initialization.infrastructure_provisioned)
    return _INFRASTRUCTURE.of(scope.infrastructure, scope.machine, done=done)


def _deleting(scope: Scope) -> Condition:
    if not scope.machine.deleting:
        return false(ConditionType.DELETING, Reason.NOT_DELETING)
    stage = scope.stage or Stage(Reason.INTERNAL_ERROR)
    return true(ConditionType.DELETING, stage.reason, stage.message)


def _updating(machine: Machine) -> Condition:
    """Nothing is updated in place here, but somebody else may do so."""
    if labels.UPDATE_IN_PROGRESS in machine.metadata.annotations:
        return true(ConditionType.UPDATING, Reason.IN_PLACE_UPDATING, "In-place update in progress")
    return false(ConditionType.UPDATING, Reason.NOT_UPDATING)


def up_to_date(scope: Scope) -> Condition | None:
    """Only of machines of a deployment: whoever else makes machines says so of them himself."""
    machine, machine_set, deployment = scope.machine, scope.machine_set, scope.machine_deployment
    if machine_set is None or deployment is None:
        return None
    type = ConditionType.UP_TO_DATE
    found = differences(machine_set.spec.template, deployment.spec.template)
    if rollout_is_due(machine_set, deployment, datetime.now(UTC)):
        found.append("MachineDeployment spec.rolloutAfter expired")
    if found:
        return false(type, Reason.NOT_UP_TO_DATE, "\n".join(f"* {text}" for text in found))
    updating = get(machine, ConditionType.UPDATING)
    if updating is not None and updating.status == "True":
        return false(type, Reason.UPDATING, f"* {updating.message}")
    kubelet = machine.status.node_info.kubelet_version if machine.status.node_info is not None else ""
    if kubelet and machine.spec.version and kubelet != machine.spec.version:
        message = f"* Node.status.nodeInfo.kubeletVersion {kubelet}, {machine.spec.version} required"
        return false(type, Reason.UPDATING, message)
    return true(type, Reason.UP_TO_DATE)


def _observe_available(machine: Machine) -> Outcome:
    """Ready for long enough; if not yet, look again when it is."""
    type, found = ConditionType.AVAILABLE, get(machine, ConditionType.READY)
    if found is None or found.status != "True" or found.last_transition_time is None:
        put(machine, false(type, Reason.NOT_READY))
        return None
    due = found.last_transition_time + timedelta(seconds=machine.spec.min_ready_seconds or 0)
    left = (due - datetime.now(UTC)).total_seconds()
    if left <= 0:
        put(machine, true(type, Reason.AVAILABLE))
        return None
    put(machine, false(type, Reason.WAITING_FOR_MIN_READY_SECONDS))
    return Result(requeue_after=left + 0.05)
