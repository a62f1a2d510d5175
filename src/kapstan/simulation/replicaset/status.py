"""Status: what a ReplicaSet says of its pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from kapstan.k8s.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.errors import APIError
from kapstan.simulation.pods import is_active, is_available, is_finished, is_ready

__all__ = ("Failure", "observed_status")

_FAILURE = "ReplicaFailure"


class Failure(NamedTuple):
    """Why the pods of a set could not be managed."""

    reason: str
    error: Exception


def observed_status(
    replica_set: ReplicaSet, pods: Sequence[Pod], failure: Failure | None, now: datetime
) -> ReplicaSetStatus:
    """The status that follows from the pods."""
    active = [pod for pod in pods if is_active(pod)]
    meta = replica_set.spec.template and replica_set.spec.template.metadata
    wanted = (meta.labels if meta else {}).items()
    seconds = replica_set.spec.min_ready_seconds or 0
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(wanted <= pod.metadata.labels.items() for pod in active) or None,
        ready_replicas=sum(map(is_ready, active)) or None,
        available_replicas=sum(is_available(pod, seconds, now) for pod in active) or None,
        terminating_replicas=sum(pod.deleting and not is_finished(pod) for pod in pods),
        observed_generation=replica_set.metadata.generation,
        conditions=_conditions(replica_set, failure, now),
    )


def _conditions(replica_set: ReplicaSet, failure: Failure | None, now: datetime) -> list[ReplicaSetCondition]:
    others = [one for one in replica_set.status.conditions if one.type != _FAILURE]
    if failure is None:
        return others
    known = next((one for one in replica_set.status.conditions if one.type == _FAILURE), None)
    if known is not None:
        return [*others, known]
    message = failure.error.status.message if isinstance(failure.error, APIError) else str(failure.error)
    return [
        *others,
        ReplicaSetCondition(
            type=_FAILURE, status="True", reason=failure.reason, message=message, last_transition_time=now
        ),
    ]
