"""The status of a cluster, computed from what the phases saw. Pure."""

from __future__ import annotations

from datetime import timedelta

from kapstan.cluster.api.core.cluster import ClusterPhase, ReplicaCounts
from kapstan.cluster.core.cluster import counters, rollup
from kapstan.cluster.core.cluster.descendants import Descendants
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.mirror import Mirror
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true, true_on, unknown
from kapstan.cluster.skeleton.merging import Priority, PriorityFunction, Reasons, priority_of, summary
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import rfc3339
from kapstan.machinery.meta import Condition
from kapstan.runtime.reconcile import Outcome

__all__ = ("PROBE_GRACE", "observe")

# How long a workload cluster may be silent before that is a problem.
PROBE_GRACE = timedelta(seconds=50)
_ENOUGH_FAILURES = 5
_NO_TOPOLOGY = "Waiting for cluster topology to be reconciled"

_INFRASTRUCTURE = Mirror(ConditionType.INFRASTRUCTURE_READY, "Ready", "status.initialization.provisioned")
_CONTROL_PLANE = Mirror(
    ConditionType.CONTROL_PLANE_AVAILABLE,
    "Available",
    "status.initialization.controlPlaneInitialized",
    Reason.AVAILABLE,
    Reason.NOT_AVAILABLE,
)


def observe(scope: Scope) -> Outcome:
    """Set phase, counters and conditions. Available comes last, for it sums up the others."""
    cluster = scope.cluster
    _observe_phase(scope)
    _count(scope)
    for condition in (
        remote_connection_probe(scope),
        _infrastructure_ready(scope),
        _control_plane_available(scope),
        control_plane_initialized(scope),
        *rollup.conditions(cluster, scope.control_plane, scope.descendants),
        _deleting(scope),
    ):
        if condition is not None:
            put(cluster, condition)
    put(cluster, _available(scope))
    return None


# --- Phase and counters -----------------------------------------------------------------------------------------------


def _observe_phase(scope: Scope) -> None:
    phase = phase_of(scope)
    if phase != scope.cluster.status.phase:
        scope.cluster.status.phase = phase
        scope.events.normal(scope.cluster, phase, f"Cluster {scope.cluster.name} is {phase}")


def phase_of(scope: Scope) -> ClusterPhase:
    spec = scope.cluster.spec
    if scope.cluster.deleting:
        return "Deleting"
    if scope.initialization.infrastructure_provisioned and scope.endpoint is not None:
        return "Provisioned"
    return "Provisioning" if spec.infrastructure_ref or spec.control_plane_ref else "Pending"


def _count(scope: Scope) -> None:
    cluster, known = scope.cluster, scope.cluster.status.control_plane or ReplicaCounts()
    if cluster.spec.control_plane_ref is not None or cluster.spec.topology is not None:
        provider = scope.control_plane.found if scope.control_plane is not None else None
        counts = counters.of_control_plane(provider) if provider is not None else ReplicaCounts()
        cluster.status.control_plane = counts.replace(upgrade_plan=known.upgrade_plan)
    elif scope.descendants is not None:
        cluster.status.control_plane = counters.of_machines(scope.descendants.control_plane)
    if scope.descendants is not None:
        workers = counters.of_workers(cluster, scope.descendants)
        plan = cluster.status.workers.upgrade_plan if cluster.status.workers is not None else []
        cluster.status.workers = workers.replace(upgrade_plan=plan)


# --- Conditions -------------------------------------------------------------------------------------------------------


def remote_connection_probe(scope: Scope) -> Condition | None:
    """Whether the workload cluster answers. What was said last stands until enough is known."""
    type, health = ConditionType.REMOTE_CONNECTION_PROBE, scope.health
    if not health.settled(_ENOUGH_FAILURES):
        if get(scope.cluster, type) is not None:
            return None
        return false(type, Reason.PROBE_FAILED, "Remote connection not established yet")
    if health.silent_for() <= PROBE_GRACE:
        return true(type, Reason.PROBE_SUCCEEDED)
    since = health.last_success
    when = f", probe last succeeded at {rfc3339(since)}" if since is not None else ""
    return false(type, Reason.PROBE_FAILED, f"Remote connection probe failed{when}")


def _infrastructure_ready(scope: Scope) -> Condition:
    type, spec = ConditionType.INFRASTRUCTURE_READY, scope.cluster.spec
    if spec.infrastructure_ref is None and spec.topology is not None:
        return false(type, Reason.OBJECT_DOES_NOT_EXIST, "" if scope.cluster.deleting else _NO_TOPOLOGY)
    if scope.infrastructure is None:
        return true(type, Reason.READY)  # there is none, and none is needed
    done = bool(scope.initialization.infrastructure_provisioned)
    return _INFRASTRUCTURE.of(scope.infrastructure, scope.cluster, done=done)


def _control_plane_available(scope: Scope) -> Condition:
    type, spec = ConditionType.CONTROL_PLANE_AVAILABLE, scope.cluster.spec
    if spec.control_plane_ref is None and spec.topology is not None:
        return false(type, Reason.OBJECT_DOES_NOT_EXIST, "" if scope.cluster.deleting else _NO_TOPOLOGY)
    if scope.control_plane is None:
        return _machines_available(scope)
    done = bool(scope.initialization.control_plane_initialized)
    return _CONTROL_PLANE.of(scope.control_plane, scope.cluster, done=done)


def _machines_available(scope: Scope) -> Condition:
    """A control plane of machines is available as soon as it is initialized."""
    type = ConditionType.CONTROL_PLANE_AVAILABLE
    if true_on(scope.cluster, ConditionType.CONTROL_PLANE_INITIALIZED) or _has_node(scope.descendants):
        return true(type, Reason.AVAILABLE)
    return false(type, Reason.NOT_AVAILABLE, "No machine of the control plane has a node yet")


def control_plane_initialized(scope: Scope) -> Condition | None:
    """Once true, it stays true."""
    type, spec = ConditionType.CONTROL_PLANE_INITIALIZED, scope.cluster.spec
    if true_on(scope.cluster, type):
        return None
    if spec.control_plane_ref is None and spec.topology is not None:
        return unknown(type, Reason.OBJECT_DOES_NOT_EXIST, "" if scope.cluster.deleting else _NO_TOPOLOGY)
    if spec.control_plane_ref is None:
        return _machines_initialized(scope)
    referenced = scope.control_plane
    if referenced is None or referenced.error is not None:
        why = f": {referenced.error}" if referenced is not None else ""
        return unknown(type, Reason.INTERNAL_ERROR, f"{spec.control_plane_ref.kind} could not be read{why}")
    if referenced.found is None:
        return unknown(type, Reason.OBJECT_DOES_NOT_EXIST, f"{referenced.kind} does not exist")
    if referenced.found.initialized:
        return true(type, Reason.INITIALIZED)
    return false(type, Reason.NOT_INITIALIZED, "Control plane not yet initialized")


def _machines_initialized(scope: Scope) -> Condition:
    type = ConditionType.CONTROL_PLANE_INITIALIZED
    if scope.descendants is None:
        return rollup.not_listed(type)
    if _has_node(scope.descendants):
        return true(type, Reason.INITIALIZED)
    message = "Waiting for the first control plane machine to have status.nodeRef set"
    return false(type, Reason.NOT_INITIALIZED, message)


def _has_node(descendants: Descendants | None) -> bool:
    machines = descendants.control_plane if descendants is not None else []
    return any(machine.status.node_ref is not None for machine in machines)


def _deleting(scope: Scope) -> Condition:
    if not scope.cluster.deleting:
        return false(ConditionType.DELETING, Reason.NOT_DELETING)
    stage = scope.stage or Stage(Reason.INTERNAL_ERROR)
    return true(ConditionType.DELETING, stage.reason, stage.message)


# --- Available --------------------------------------------------------------------------------------------------------


def _available(scope: Scope) -> Condition:
    cluster = scope.cluster
    gates = cluster.spec.availability_gates
    if not gates and scope.cluster_class is not None:
        gates = scope.cluster_class.spec.availability_gates
    negative = [gate.condition_type for gate in gates if gate.polarity == "Negative"]
    return summary(
        cluster.status.conditions,
        ConditionType.AVAILABLE,
        [*_SUMMED_UP, *(gate.condition_type for gate in gates)],
        Reasons(Reason.NOT_AVAILABLE, Reason.AVAILABLE_UNKNOWN, Reason.AVAILABLE),
        priority=_priority(cluster.deleting, negative),
        optional=() if cluster.spec.topology is not None else (ConditionType.TOPOLOGY_RECONCILED,),
    )


_SUMMED_UP = (
    ConditionType.DELETING,
    ConditionType.REMOTE_CONNECTION_PROBE,
    ConditionType.INFRASTRUCTURE_READY,
    ConditionType.CONTROL_PLANE_AVAILABLE,
    ConditionType.WORKERS_AVAILABLE,
    ConditionType.TOPOLOGY_RECONCILED,
)
_GONE = (Reason.OBJECT_DELETED, Reason.OBJECT_DOES_NOT_EXIST)


def _priority(deleting: bool, negative: list[str]) -> PriorityFunction:
    """While a cluster goes, it is no issue that its parts have gone; and a topology may take its time."""
    default = priority_of(ConditionType.DELETING, *negative)
    parts = (ConditionType.INFRASTRUCTURE_READY, ConditionType.CONTROL_PLANE_AVAILABLE)

    def priority(condition: Condition) -> Priority:
        if deleting and condition.type in parts and condition.reason in _GONE:
            return Priority.INFO
        if condition.type == ConditionType.TOPOLOGY_RECONCILED and condition.status == "False":
            failed = condition.reason in ("ReconcileFailed", "ClusterClassNotReconciled")
            return Priority.ISSUE if failed else Priority.INFO
        return default(condition)

    return priority
