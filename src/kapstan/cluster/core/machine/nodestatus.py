"""NodeReady and NodeHealthy: what is known of the node of a machine, and if nothing is, why. Pure.

While the connection is down for a moment, what was known last stands; after a while it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.remote.health import Health, NotConnected
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, true, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import rfc3339
from kapstan.k8s.core_v1 import Node, NodeCondition
from kapstan.machinery.meta import Condition

__all__ = ("CONNECTION_GRACE", "node_conditions", "node_healthy", "node_ready")

# How long the workload cluster may be silent before nothing is known of its nodes any more.
CONNECTION_GRACE = timedelta(minutes=5)
_ENOUGH_FAILURES = 5
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


def node_conditions(scope: Scope, health: Health) -> list[Condition]:
    """Both conditions; none if what was said last shall stand."""
    initialized = get(scope.cluster, ConditionType.CONTROL_PLANE_INITIALIZED)
    initialization = scope.cluster.status.initialization
    if initialization is None or not initialization.infrastructure_provisioned:
        return _waiting("Waiting for Cluster status.initialization.infrastructureProvisioned to be true")
    if initialized is None or initialized.status != "True":
        return _waiting("Waiting for Cluster control plane to be initialized")
    if not health.settled(_ENOUGH_FAILURES):
        return _first(scope, Reason.CONNECTION_DOWN, "Remote connection not established yet")
    if _is_silent(health, initialized.last_transition_time):
        return _both(unknown, Reason.CONNECTION_DOWN, _last_probe(health))
    if isinstance(scope.node_error, NotConnected):
        return _first(scope, Reason.CONNECTION_DOWN, _last_probe(health))
    if scope.node_error is not None:
        return _both(unknown, Reason.INTERNAL_ERROR, str(scope.node_error))
    return [node_ready(scope.node), node_healthy(scope.node)] if scope.node is not None else _missing(scope)


def _is_silent(health: Health, since: datetime | None) -> bool:
    """The time counts from when the control plane came up, too."""
    recent = since is not None and datetime.now(UTC) - since <= CONNECTION_GRACE
    return health.silent_for() > CONNECTION_GRACE and not recent


def _missing(scope: Scope) -> list[Condition]:
    machine = scope.machine
    name = machine.status.node_ref.name if machine.status.node_ref is not None else ""
    if machine.deleting:
        if name:
            return _both(false, Reason.NODE_DELETED, f"Node {name} has been deleted")
        return _both(unknown, Reason.NODE_DOES_NOT_EXIST, "Node does not exist")
    if name:
        return _both(false, Reason.NODE_DELETED, f"Node {name} has been deleted while the Machine still exists")
    if machine.spec.provider_id:
        return _waiting(f"Waiting for a Node with spec.providerID {machine.spec.provider_id} to exist")
    return _waiting(f"Waiting for {machine.spec.infrastructure_ref.kind} to report spec.providerID")


def node_ready(node: Node) -> Condition:
    """As the node itself says, since when it says so."""
    type, found = ConditionType.NODE_READY, _find(node, "Ready")
    if found is None:
        return unknown(type, Reason.NODE_READY_UNKNOWN, "* Node.Ready: Condition not yet reported")
    if found.status == "True":
        condition = true(type, Reason.NODE_READY)
    else:
        message = f"* Node.Ready: {found.message}" if found.message else ""
        bad = found.status == "False"
        make, reason = (false, Reason.NODE_NOT_READY) if bad else (unknown, Reason.NODE_READY_UNKNOWN)
        condition = make(type, reason, message)
    return condition.replace(last_transition_time=found.last_transition_time)


def node_healthy(node: Node) -> Condition:
    """Ready, and under no pressure."""
    type = ConditionType.NODE_HEALTHY
    told: dict[str, str] = {}
    statuses: set[str] = set()
    for name in ("Ready", *_PRESSURES):
        found = _find(node, name)
        if found is None:
            told[name] = "Condition not yet reported"
            statuses.add("Unknown")
        elif found.status != ("False" if name in _PRESSURES else "True"):
            told[name] = found.message or f"Condition is {found.status}"
            statuses.add("Unknown" if found.status == "Unknown" else "False")
    message = "\n".join(f"* Node.{name}: {text}" for name, text in _grouped(node, told).items())
    if "False" in statuses:
        return false(type, Reason.NODE_NOT_HEALTHY, message)
    if statuses:
        return unknown(type, Reason.NODE_HEALTHY_UNKNOWN, message)
    return true(type, Reason.NODE_HEALTHY)


def _grouped(node: Node, told: dict[str, str]) -> dict[str, str]:
    """A kubelet that has stopped makes all conditions say the same."""
    reported = {text for name, text in told.items() if _find(node, name) is not None}
    several = sum(_find(node, name) is not None for name in told) > 1
    return {"AllConditions": reported.pop()} if several and len(reported) == 1 else told


def _find(node: Node, type: str) -> NodeCondition | None:
    return next((condition for condition in node.status.conditions if condition.type == type), None)


def _waiting(message: str) -> list[Condition]:
    return _both(unknown, Reason.INSPECTION_FAILED, message)


def _first(scope: Scope, reason: str, message: str) -> list[Condition]:
    """Only if nothing has been said before."""
    types = (ConditionType.NODE_READY, ConditionType.NODE_HEALTHY)
    if all(get(scope.machine, type) is not None for type in types):
        return []
    return _both(unknown, reason, message)


def _both(make: Callable[[str, str, str], Condition], reason: str, message: str) -> list[Condition]:
    return [make(type, reason, message) for type in (ConditionType.NODE_READY, ConditionType.NODE_HEALTHY)]


def _last_probe(health: Health) -> str:
    return f"Last successful probe at {rfc3339(health.last_success)}" if health.last_success is not None else ""
