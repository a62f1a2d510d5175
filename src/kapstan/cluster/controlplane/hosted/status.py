"""Status: what is told of a control plane, computed from what one reconcile has seen. Pure.

Conditions in the order in which things come about; a condition whose step was not reached stays what it was, since
nothing new is known of it. `Available` sums up what matters to whoever wants to use the cluster.
"""

from __future__ import annotations

from enum import StrEnum

from kapstan.cluster.api.controlplane.hosted import (
    CertificateExpiry,
    ComponentStatus,
    DatastoreStatus,
    HostedControlPlane,
    HostedControlPlaneInitialization,
)
from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.controlplane.hosted.runtime.interface import (
    ComponentName,
    ComponentState,
    Condition,
    Observation,
)
from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.cluster.controlplane.hosted.version import KubernetesVersion
from kapstan.cluster.pki.secrets import CLUSTER_NAME_LABEL
from kapstan.machinery import conditions
from kapstan.machinery.meta import ConditionStatus

__all__ = ("ConditionType", "observe_deletion", "observe_invalid", "observe_status")


class ConditionType(StrEnum):
    """The conditions of a control plane, the most telling first."""

    AVAILABLE = "Available"
    CERTIFICATES_AVAILABLE = "CertificatesAvailable"
    DATASTORE_READY = "DatastoreReady"
    ENDPOINT_READY = "EndpointReady"
    API_SERVER_HEALTHY = "APIServerHealthy"
    CONTROLLER_MANAGER_HEALTHY = "ControllerManagerHealthy"
    SCHEDULER_HEALTHY = "SchedulerHealthy"
    KUBECONFIG_AVAILABLE = "KubeconfigAvailable"
    BOOTSTRAP_CONFIGURED = "BootstrapConfigured"
    ADDONS_READY = "AddonsReady"
    ROLLING_OUT = "RollingOut"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    HIBERNATED = "Hibernated"
    DELETING = "Deleting"
    PAUSED = "Paused"


_HEALTH = {
    ComponentName.API_SERVER: ConditionType.API_SERVER_HEALTHY,
    ComponentName.CONTROLLER_MANAGER: ConditionType.CONTROLLER_MANAGER_HEALTHY,
    ComponentName.SCHEDULER: ConditionType.SCHEDULER_HEALTHY,
}
_SUMMED_UP = (
    ConditionType.DELETING,
    ConditionType.HIBERNATED,
    ConditionType.CERTIFICATES_AVAILABLE,
    ConditionType.DATASTORE_READY,
    ConditionType.ENDPOINT_READY,
    ConditionType.API_SERVER_HEALTHY,
    ConditionType.CONTROLLER_MANAGER_HEALTHY,
    ConditionType.SCHEDULER_HEALTHY,
    ConditionType.KUBECONFIG_AVAILABLE,
    ConditionType.BOOTSTRAP_CONFIGURED,
)


def observe_status(scope: Scope) -> None:
    """Everything, after the steps were taken as far as they could be."""
    seen = scope.observation
    _observe_steps(scope, seen)
    _observe_components(scope, seen)
    _observe_changes(scope, seen)
    _observe_numbers(scope, seen)
    _sum_up(scope.control_plane)
    _observe_initialization(scope, seen)
    status = scope.control_plane.status
    available = conditions.is_true(status.conditions, ConditionType.AVAILABLE)
    status.available_replicas = status.ready_replicas if available else 0
    status.conditions.sort(key=_place)
    if not scope.failures:
        status.observed_generation = scope.control_plane.metadata.generation or None


def observe_deletion(control_plane: HostedControlPlane, error: Exception | None = None) -> None:
    message = str(error) if error else "its processes, files and Secrets are being removed"
    _put(control_plane, ConditionType.DELETING, True, "DeletionFailed" if error else "Deleting", message)
    _sum_up(control_plane)
    control_plane.status.conditions.sort(key=_place)


def observe_invalid(control_plane: HostedControlPlane, message: str) -> None:
    _put(control_plane, ConditionType.AVAILABLE, False, "InvalidConfiguration", message)
    control_plane.status.external_managed_control_plane = True
    control_plane.status.conditions.sort(key=_place)


def _observe_steps(scope: Scope, seen: Observation) -> None:
    plane, endpoint = scope.control_plane, scope.endpoint
    done = {
        ConditionType.CERTIFICATES_AVAILABLE: scope.leaves is not None,
        ConditionType.ENDPOINT_READY: endpoint is not None,
        ConditionType.KUBECONFIG_AVAILABLE: scope.kubeconfig,
        ConditionType.BOOTSTRAP_CONFIGURED: scope.bootstrapped,
        ConditionType.ADDONS_READY: scope.addons,
    }
    for type, is_done in done.items():
        failure = scope.failures.get(type)
        if failure is not None:
            _put(plane, type, False, "Failed", str(failure))
        elif is_done:
            _put(plane, type, True, "Done", f"at {endpoint}" if type is ConditionType.ENDPOINT_READY else "")
        elif conditions.find(plane.status.conditions, type) is None:
            _put(plane, type, False, "NotYetDone", "waiting for the API server")


def _observe_components(scope: Scope, seen: Observation) -> None:
    plane = scope.control_plane
    for name, type in _HEALTH.items():
        status, reason, message = _health(seen.component(name), scope, seen)
        failure = scope.failures.get(type)
        _put(plane, type, status and failure is None, *(("Failed", str(failure)) if failure else (reason, message)))
    status, reason, message = _health(seen.component(ComponentName.ETCD), scope, seen)
    failure = scope.failures.get(ConditionType.DATASTORE_READY)
    if failure is not None:
        status, reason, message = False, "Failed", str(failure)
    _put(plane, ConditionType.DATASTORE_READY, status, reason, message)


def _health(state: ComponentState, scope: Scope, seen: Observation) -> tuple[bool, str, str]:
    if state.ready:
        return True, "Ready", ""
    if state.condition is Condition.STOPPED:
        if scope.settings.hibernated:
            return False, "Hibernated", "the control plane hibernates"
        return False, "NotStarted", seen.failure or "waiting for what it needs"
    return False, state.reason or str(state.condition), state.message or seen.failure


def _observe_changes(scope: Scope, seen: Observation) -> None:
    plane, settings = scope.control_plane, scope.settings
    running = seen.component(ComponentName.API_SERVER).condition is not Condition.STOPPED
    refused = scope.failures.get(ConditionType.ROLLING_OUT)
    if seen.rolling_out:
        _put(plane, ConditionType.ROLLING_OUT, True, "RollingOut", f"to {settings.version}")
    elif refused is not None:
        _put(plane, ConditionType.ROLLING_OUT, False, "VersionRefused", str(refused))
    elif seen.refused is not None:
        message = f"a change to {seen.refused.version} was taken back: {seen.refused.message}"
        _put(plane, ConditionType.ROLLING_OUT, False, "RolledBack", message)
    else:
        _put(plane, ConditionType.ROLLING_OUT, False, "NotRollingOut")
    up, down = not settings.hibernated and not seen.ready, settings.hibernated and running
    _put(plane, ConditionType.SCALING_UP, up, "ScalingUp" if up else "NotScalingUp")
    _put(plane, ConditionType.SCALING_DOWN, down, "ScalingDown" if down else "NotScalingDown")
    _put(plane, ConditionType.DELETING, False, "NotDeleting")
    if settings.hibernated and not running:
        _put(plane, ConditionType.HIBERNATED, True, "Hibernated", "spec.replicas is 0; all data are kept")
    else:
        _put(plane, ConditionType.HIBERNATED, False, "Awake")


def _observe_numbers(scope: Scope, seen: Observation) -> None:
    status, settings = scope.control_plane.status, scope.settings
    api_server = seen.component(ComponentName.API_SERVER)
    status.external_managed_control_plane = True
    status.selector = f"{CLUSTER_NAME_LABEL}={settings.cluster}"
    replicas = settings.replicas or 1  # one that is put to sleep is there until it sleeps
    status.replicas = replicas * (api_server.condition is not Condition.STOPPED)
    status.ready_replicas = replicas * seen.ready
    changed = seen.rolling_out or seen.refused is not None or api_server.version != settings.version
    status.up_to_date_replicas = 0 if changed else status.replicas
    if scope.datastore is not None:
        status.datastore = DatastoreStatus(type=settings.datastore, prefix=scope.datastore.prefix)
    if scope.leaves is not None:
        status.certificates = _expiries(scope)
    status.components = [
        ComponentStatus(
            name=name,
            version=None if name is ComponentName.ETCD else state.version or None,  # it has a version of its own
            ready=state.ready,
            restarts=state.restarts or None,
        )
        for name, state in sorted(seen.components.items())
        if state.condition is not Condition.STOPPED
    ]
    _observe_versions(scope, seen)


def _observe_versions(scope: Scope, seen: Observation) -> None:
    """Of what has become ready at least once; while nothing runs, what ran last."""
    status = scope.control_plane.status
    versions = {
        seen.component(name).version
        for name in _HEALTH
        if seen.component(name).version and seen.component(name).condition is not Condition.STOPPED
    }
    if not versions or not (seen.ready or status.versions):
        return
    found = sorted(versions, key=KubernetesVersion.parse)
    status.version = found[0]
    replicas = (scope.settings.replicas or 1) if len(found) == 1 else None
    status.versions = [VersionCount(version=version, replicas=replicas) for version in found]


def _expiries(scope: Scope) -> list[CertificateExpiry]:
    assert scope.leaves is not None
    ends = {name: pair.not_after for name, pair in scope.leaves.pairs.items() if not name.endswith("-next")}
    if scope.authorities is not None:
        ends["ca"] = scope.authorities.cluster.not_after
    return [CertificateExpiry(name=name, not_after=end) for name, end in sorted(ends.items())]


def _observe_initialization(scope: Scope, seen: Observation) -> None:
    """Once and for all: the API server is ready, and nodes can join. Whoever waits for it acts at once."""
    status = scope.control_plane.status
    if seen.ready and scope.bootstrapped and scope.kubeconfig:
        status.initialization = HostedControlPlaneInitialization(control_plane_initialized=True)


def _sum_up(plane: HostedControlPlane) -> None:
    """Where the whole is gone or asleep, nobody wants to hear what that means for each part."""
    negative = (ConditionType.DELETING, ConditionType.HIBERNATED)
    for type in negative:
        whole = conditions.find(plane.status.conditions, type)
        if whole is not None and whole.status == "True":
            _put(plane, ConditionType.AVAILABLE, False, whole.reason, whole.message)
            return
    found = conditions.summary(plane.status.conditions, ConditionType.AVAILABLE, _SUMMED_UP, negative=negative)
    _put(plane, ConditionType.AVAILABLE, found.status, found.reason, found.message)


def _put(
    plane: HostedControlPlane, type: ConditionType, status: bool | ConditionStatus, reason: str, message: str = ""
) -> None:
    conditions.set_condition(
        plane.status.conditions,
        type,
        status,
        reason=reason,
        message=message,
        observed_generation=plane.metadata.generation or None,
    )


_PLACES = {str(type): place for place, type in enumerate(ConditionType)}


def _place(condition: object) -> int:
    return _PLACES.get(getattr(condition, "type", ""), len(_PLACES))
