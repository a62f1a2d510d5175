"""Following a cluster: what has been reached since it was made, and what is waited for now, each time that changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from msgspec import Struct

from kapstan.client import Client
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ReplicaCounts
from kapstan.cluster.management.tree import explained
from kapstan.machinery.conditions import find, is_true
from kapstan.machinery.errors import Expired
from kapstan.machinery.gvk import ObjectKey

__all__ = (
    "Milestone",
    "follow",
    "is_available",
    "is_scaled",
    "is_upgraded",
    "milestones_of",
    "steps_of",
    "waits_for",
)

_WORDS = {
    "InfrastructureReady": "Infrastructure ready",
    "ControlPlaneInitialized": "Control plane answers",
    "ControlPlaneAvailable": "Control plane available",
    "RemoteConnectionProbe": "Connected",
    "WorkersAvailable": "Workers available",
    "Available": "Cluster available",
}


async def follow(client: Client, cluster: ObjectKey) -> AsyncIterator[Cluster | None]:
    """A cluster as it is, and each time that it changes; None, and no more, when it is gone."""
    while True:
        found = await client.find(Cluster, cluster.name, cluster.namespace)
        yield found
        if found is None:
            return
        fields, version = {"metadata.name": cluster.name}, found.metadata.resource_version
        try:
            async with client.watch(Cluster, cluster.namespace, fields=fields, resource_version=version) as events:
                async for event in events:
                    if event.type == "DELETED":
                        yield None
                        return
                    if event.type != "BOOKMARK":
                        yield event.object
        except Expired:
            continue


# --- What has been reached --------------------------------------------------------------------------------------------


class Milestone(Struct, frozen=True):
    """Something that has been reached."""

    text: str
    at: datetime


def milestones_of(cluster: Cluster) -> list[Milestone]:
    """What has been reached, in the order in which it was."""
    words = dict(_WORDS)
    if _counts(cluster.status.workers) == (0, 0):  # none are wanted, or it is not known yet that some are
        del words["WorkersAvailable"]
    found = [(find(cluster.status.conditions, name), text) for name, text in words.items()]
    reached = [
        Milestone(text, one.last_transition_time)
        for one, text in found
        if one is not None and one.status == "True" and one.last_transition_time is not None
    ]
    return sorted(reached, key=lambda milestone: milestone.at)


def steps_of(cluster: Cluster) -> tuple[int, int]:
    """How many steps are done, and how many there are: conditions, and workers one by one."""
    steps = [is_true(cluster.status.conditions, name) for name in _WORDS]
    ready, wanted = _counts(cluster.status.workers)
    return sum(steps) + min(ready, wanted), len(steps) + wanted


def is_available(cluster: Cluster, *, workers: int = 0) -> bool:
    """Whether a cluster is available, with all of its workers, as it is wanted now.

    `workers`: at least so many. Of those that were made a moment ago the cluster may not have heard yet.
    """
    ready, wanted = _counts(cluster.status.workers)
    current = cluster.status.observed_generation == cluster.metadata.generation
    return current and is_true(cluster.status.conditions, "Available") and ready >= max(wanted, workers)


def is_scaled(cluster: Cluster, *, workers: int | None = None, control_plane: int | None = None) -> bool:
    """Whether a cluster has so many workers, so many replicas of its control plane, and all are available."""
    status = cluster.status
    parts = ((status.workers, workers), (status.control_plane, control_plane))
    return all(_counts(counts) == (number, number) for counts, number in parts if number is not None)


def is_upgraded(cluster: Cluster, version: str) -> bool:
    """Whether nothing of a cluster runs another version."""
    parts = [part for part in (cluster.status.control_plane, cluster.status.workers) if part is not None]
    versions = {one.version for part in parts for one in part.versions}
    return versions == {version} and is_available(cluster)


def waits_for(cluster: Cluster) -> str:
    """What a cluster waits for, in one line."""
    conditions = cluster.status.conditions
    if cluster.deleting:
        deleting = find(conditions, "Deleting")
        return explained(deleting) if deleting is not None else "the deletion to begin"
    available = find(conditions, "Available")
    if available is None:
        return "a controller to take notice: does `kapstan up` run?"
    if available.status != "True":
        return explained(available)
    ready, wanted = _counts(cluster.status.workers)
    return f"workers: {ready} of {wanted} are available" if ready != wanted else ""


def _counts(counts: ReplicaCounts | None) -> tuple[int, int]:
    """How many are available, and how many are wanted."""
    return (0, 0) if counts is None else (counts.available_replicas or 0, counts.desired_replicas or 0)
