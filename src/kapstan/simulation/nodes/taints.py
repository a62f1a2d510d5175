"""Taints: what a node's conditions put on it, and which pods may stay in spite of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kapstan.k8s.core_v1 import Node, Pod, Taint
from kapstan.simulation.scheduling.filters import tolerates

__all__ = ("desired_taints", "evicting_taints", "leaves_at", "ready_status")

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_CORDONED = "node.kubernetes.io/unschedulable"
_BY_CONDITION = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_OURS = {_NOT_READY, _UNREACHABLE, _CORDONED, *_BY_CONDITION.values()}


def ready_status(node: Node) -> str:
    """`True`, `False` or `Unknown`; empty if the node has never said."""
    return next((one.status for one in node.status.conditions if one.type == "Ready"), "")


def desired_taints(node: Node, now: datetime) -> list[Taint]:
    """The taints of others, and those that follow from the node's conditions and its cordon."""
    wanted = [
        Taint(key=_BY_CONDITION[one.type], effect="NoSchedule")
        for one in node.status.conditions
        if one.type in _BY_CONDITION and one.status == "True"
    ]
    ready = ready_status(node)
    if ready != "True":
        key = _UNREACHABLE if ready == "Unknown" else _NOT_READY
        wanted.append(Taint(key=key, effect="NoSchedule"))
        if ready:
            wanted.append(Taint(key=key, effect="NoExecute", time_added=now))
    if node.spec.unschedulable:
        wanted.append(Taint(key=_CORDONED, effect="NoSchedule", time_added=now))
    known = {(one.key, one.effect): one for one in node.spec.taints}
    foreign = [one for one in node.spec.taints if one.key not in _OURS]
    return [*foreign, *(known.get((one.key, one.effect), one) for one in wanted)]


def evicting_taints(node: Node) -> list[Taint]:
    return [one for one in node.spec.taints if one.effect == "NoExecute"]


def leaves_at(pod: Pod, taints: Sequence[Taint], now: datetime) -> datetime | None:
    """When the pod has to leave a node with these taints; None: it may stay."""
    ends: list[datetime] = []
    for taint in taints:
        found = [one for one in pod.spec.tolerations if tolerates(one, taint)]
        if not found:
            return now
        limits = [one.toleration_seconds for one in found if one.toleration_seconds is not None]
        if limits:
            ends.append((taint.time_added or now) + timedelta(seconds=max(0, min(limits))))
    return min(ends, default=None)
