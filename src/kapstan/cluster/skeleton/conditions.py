"""Conditions: their types, their order, and how one is put on an object.

The order is for people (`kubectl get -o yaml`): what matters most comes first. It is Cluster API's own, so that two
controllers that write to one object do not reorder each other's list for ever.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from kapstan.machinery.conditions import find, is_false, is_true
from kapstan.machinery.meta import Condition, ObjectMeta, now

__all__ = (
    "ConditionType",
    "Conditioned",
    "HasConditions",
    "false",
    "false_on",
    "get",
    "put",
    "true",
    "true_on",
    "unknown",
)


class ConditionType(StrEnum):
    """Types of conditions, in the order in which an object shows them; any other type comes before the last two."""

    AVAILABLE = "Available"
    READY = "Ready"
    UP_TO_DATE = "UpToDate"
    REMOTE_CONNECTION_PROBE = "RemoteConnectionProbe"
    BOOTSTRAP_CONFIG_READY = "BootstrapConfigReady"
    INFRASTRUCTURE_READY = "InfrastructureReady"
    CONTROL_PLANE_INITIALIZED = "ControlPlaneInitialized"
    CONTROL_PLANE_AVAILABLE = "ControlPlaneAvailable"
    WORKERS_AVAILABLE = "WorkersAvailable"
    CERTIFICATES_AVAILABLE = "CertificatesAvailable"
    INITIALIZED = "Initialized"
    ETCD_CLUSTER_HEALTHY = "EtcdClusterHealthy"
    CONTROL_PLANE_COMPONENTS_HEALTHY = "ControlPlaneComponentsHealthy"
    NODE_HEALTHY = "NodeHealthy"
    NODE_READY = "NodeReady"
    NODE_KUBEADM_LABELS_AND_TAINTS_SET = "NodeKubeadmLabelsAndTaintsSet"
    ETCD_POD_HEALTHY = "EtcdPodHealthy"
    ETCD_MEMBER_HEALTHY = "EtcdMemberHealthy"
    API_SERVER_POD_HEALTHY = "APIServerPodHealthy"
    CONTROLLER_MANAGER_POD_HEALTHY = "ControllerManagerPodHealthy"
    SCHEDULER_POD_HEALTHY = "SchedulerPodHealthy"
    HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
    OWNER_REMEDIATED = "OwnerRemediated"
    TOPOLOGY_RECONCILED = "TopologyReconciled"
    UPDATING = "Updating"
    ROLLING_OUT = "RollingOut"
    REMEDIATING = "Remediating"
    SCALING_DOWN = "ScalingDown"
    SCALING_UP = "ScalingUp"
    MACHINES_READY = "MachinesReady"
    CONTROL_PLANE_MACHINES_READY = "ControlPlaneMachinesReady"
    WORKER_MACHINES_READY = "WorkerMachinesReady"
    MACHINES_UP_TO_DATE = "MachinesUpToDate"
    CONTROL_PLANE_MACHINES_UP_TO_DATE = "ControlPlaneMachinesUpToDate"
    WORKER_MACHINES_UP_TO_DATE = "WorkerMachinesUpToDate"
    EXTERNALLY_REMEDIATED = "ExternallyRemediated"
    REMEDIATION_ALLOWED = "RemediationAllowed"
    PAUSED = "Paused"
    DELETING = "Deleting"


# A longer one is refused by the API server, and with it the whole status.
_LONGEST_MESSAGE = 32768


class HasConditions(Protocol):
    """The status of an object that has conditions."""

    conditions: list[Condition]


class Conditioned(Protocol):
    """An object with conditions in its status."""

    metadata: ObjectMeta

    @property
    def status(self) -> HasConditions: ...


def true(type: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type, status="True", reason=reason, message=message)


def false(type: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type, status="False", reason=reason, message=message)


def unknown(type: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type, status="Unknown", reason=reason, message=message)


def get(obj: Conditioned, type: str) -> Condition | None:
    return find(obj.status.conditions, type)


def true_on(obj: Conditioned, type: str) -> bool:
    return is_true(obj.status.conditions, type)


def false_on(obj: Conditioned, type: str) -> bool:
    return is_false(obj.status.conditions, type)


def put(obj: Conditioned, condition: Condition) -> None:
    """Put a condition on an object, in its place. Its time moves only if its status does, to its own time if it has
    one: a mirrored condition changed when the original did."""
    old = get(obj, condition.type)
    since = condition.last_transition_time or now()
    if old is not None and old.status == condition.status and old.last_transition_time is not None:
        since = old.last_transition_time
    new = condition.replace(
        last_transition_time=since,
        observed_generation=obj.metadata.generation or None,
        message=condition.message[:_LONGEST_MESSAGE],
    )
    others = [other for other in obj.status.conditions if other.type != condition.type]
    obj.status.conditions = sorted([*others, new], key=_place)


def _place(condition: Condition) -> tuple[int, str]:
    return _PLACES.get(condition.type, _ANY_OTHER), condition.type


_PLACES = {str(type): place for place, type in enumerate(ConditionType)}
# These have no place of their own in Cluster API's order.
_ANY_OTHER = _PLACES[ConditionType.EXTERNALLY_REMEDIATED]
_PLACES[ConditionType.REMEDIATION_ALLOWED] = _ANY_OTHER
