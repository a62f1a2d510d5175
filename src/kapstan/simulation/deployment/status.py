"""Status: what a Deployment says of its ReplicaSets, in counters and in the conditions Available and Progressing.

Pure. A rollout progresses while a counter moves in the right direction, and has timed out when none has for
`progressDeadlineSeconds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kapstan.k8s.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from kapstan.simulation.deployment.scaling import max_unavailable, total, wanted

__all__ = (
    "PROGRESSING",
    "condition",
    "counted",
    "is_complete",
    "rolled_out",
    "seconds_to_deadline",
    "with_condition",
    "without_condition",
)

AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
_NO_DEADLINE = 2**31 - 1


def condition(status: DeploymentStatus, type: str) -> DeploymentCondition | None:
    return next((one for one in status.conditions if one.type == type), None)


def counted(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """Counters and availability."""
    had = deployment.status
    ready = sum(one.status.ready_replicas or 0 for one in sets)
    available = sum(one.status.available_replicas or 0 for one in sets)
    status = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas or 0 for one in sets) or None,
        updated_replicas=(new.status.replicas if new else 0) or None,
        ready_replicas=ready or None,
        available_replicas=available or None,
        unavailable_replicas=max(0, total(sets) - available) or None,
        terminating_replicas=_terminating(sets),
        collision_count=had.collision_count,
        conditions=list(had.conditions),
    )
    if available >= wanted(deployment) - max_unavailable(deployment):
        return with_condition(
            status, AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    message = "Deployment does not have minimum availability."
    return with_condition(status, AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)


def rolled_out(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The same, and how the rollout goes."""
    status = counted(deployment, sets, new, now)
    known = condition(deployment.status, PROGRESSING)
    if not has_deadline(deployment):
        status = without_condition(status, PROGRESSING)
    elif not (_all_updated(status) and known is not None and known.reason == "NewReplicaSetAvailable"):
        status = _progress(deployment, status, new, now)
    failure = next((one for each in sets for one in each.status.conditions if one.type == FAILURE), None)
    status = without_condition(status, FAILURE)
    if failure is not None and failure.status == "True":
        return with_condition(status, FAILURE, "True", failure.reason or "", failure.message or "", now)
    return status


def _progress(
    deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    subject = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(status, PROGRESSING, "True", "NewReplicaSetAvailable", message, now)
    if _has_moved(deployment.status, status):
        return _moved(status, f"{subject} is progressing.", now)
    if _has_timed_out(deployment, now):
        message = f"{subject} has timed out progressing."
        return with_condition(status, PROGRESSING, "False", "ProgressDeadlineExceeded", message, now)
    return status


def _moved(status: DeploymentStatus, message: str, now: datetime) -> DeploymentStatus:
    """Each step is written, for its time is what the deadline counts from."""
    known = condition(status, PROGRESSING)
    since = known.last_transition_time if known is not None and known.status == "True" else now
    news = DeploymentCondition(
        type=PROGRESSING,
        status="True",
        reason="ReplicaSetUpdated",
        message=message,
        last_update_time=now,
        last_transition_time=since,
    )
    return status.replace(conditions=[*without_condition(status, PROGRESSING).conditions, news])


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether every pod is of the current revision and available."""
    want = wanted(deployment)
    counters = (status.updated_replicas or 0, status.replicas or 0, status.available_replicas or 0)
    return counters == (want, want, want) and (status.observed_generation or 0) >= deployment.metadata.generation


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, _NO_DEADLINE)


def seconds_to_deadline(deployment: Deployment, status: DeploymentStatus, now: datetime) -> float | None:
    """When to look whether a rollout that does not move has timed out; None if that is not to be expected."""
    known = condition(status, PROGRESSING)
    if not has_deadline(deployment) or known is None or known.last_update_time is None:
        return None
    if is_complete(deployment, status) or known.reason in ("ProgressDeadlineExceeded", "NewReplicaSetAvailable"):
        return None
    due = known.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)
    return max(0.0, (due - now).total_seconds()) + 1.0


def with_condition(
    status: DeploymentStatus, type: str, value: str, reason: str, message: str, now: datetime
) -> DeploymentStatus:
    """A condition that says the same for the same reason is left as it is, message and all."""
    known = condition(status, type)
    if known is not None and (known.status, known.reason) == (value, reason):
        return status
    since = known.last_transition_time if known is not None and known.status == value else now
    news = DeploymentCondition(
        type=type, status=value, reason=reason, message=message, last_update_time=now, last_transition_time=since
    )
    return status.replace(conditions=[*without_condition(status, type).conditions, news])


def without_condition(status: DeploymentStatus, type: str) -> DeploymentStatus:
    return status.replace(conditions=[one for one in status.conditions if one.type != type])


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    counts = [one.status.terminating_replicas for one in sets]
    return None if None in counts else sum(count or 0 for count in counts)


def _all_updated(status: DeploymentStatus) -> bool:
    return (status.replicas or 0) == (status.updated_replicas or 0)


def _has_moved(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    def outdated(status: DeploymentStatus) -> int:
        return (status.replicas or 0) - (status.updated_replicas or 0)

    return (
        (new.updated_replicas or 0) > (old.updated_replicas or 0)
        or outdated(new) < outdated(old)
        or (new.ready_replicas or 0) > (old.ready_replicas or 0)
        or (new.available_replicas or 0) > (old.available_replicas or 0)
    )


def _has_timed_out(deployment: Deployment, now: datetime) -> bool:
    known = condition(deployment.status, PROGRESSING)
    if known is None or known.reason == "NewReplicaSetAvailable":
        return False
    if known.reason == "ProgressDeadlineExceeded":
        return True
    if known.last_update_time is None:
        return False
    deadline = timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)
    return now >= known.last_update_time + deadline
