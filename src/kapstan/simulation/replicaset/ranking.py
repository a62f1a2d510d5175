"""Ranking: which pods of a set go first when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kapstan.k8s.core_v1 import Pod
from kapstan.simulation.pods import condition, is_ready

__all__ = ("surplus",)

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def surplus(pods: Sequence[Pod], count: int) -> list[Pod]:
    """The pods to delete so that `count` fewer are left: the least useful, where they are crowded, the youngest."""
    crowd = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name)
    return sorted(pods, key=lambda pod: _usefulness(pod, crowd[pod.spec.node_name or ""]))[: max(count, 0)]


def _usefulness(pod: Pod, neighbours: int) -> tuple[Any, ...]:
    """Small for pods that are missed least, in the order in which kube-controller-manager compares them."""
    ready = condition(pod, "Ready")
    since = ready.last_transition_time if ready is not None and is_ready(pod) else None
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase or "", 2),
        is_ready(pod),
        _cost(pod),
        -neighbours,
        -(since or _EPOCH).timestamp(),
        -max((status.restart_count or 0 for status in pod.status.container_statuses), default=0),
        -(pod.metadata.creation_timestamp or _EPOCH).timestamp(),
    )


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(_COST, "0"))
    except ValueError:
        return 0
