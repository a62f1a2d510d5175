"""Pause: a paused object is left as it is. The condition Paused says so before anything else is done.

Whoever pauses an object (`clusterctl move`) relies on it: once the condition is True nobody touches the object, and
before anybody does again the condition is False.
"""

from __future__ import annotations

from typing import Any

from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import Conditioned, ConditionType, false, get, put, true
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
from kapstan.machinery.model import Resource

__all__ = ("is_paused", "paused_condition", "refresh_paused")


async def is_paused(draft: Draft[Any], cluster: Cluster | None) -> bool:
    """Whether the object is paused, by its cluster or by itself; the condition Paused says the same when it returns.

    The condition of an object that was never paused is written together with the rest of its status.
    """
    obj = draft.obj
    old = get(obj, ConditionType.PAUSED)
    put(obj, paused_condition(obj, cluster))
    new = get(obj, ConditionType.PAUSED)
    assert new is not None
    paused = new.status == "True"
    if paused or (old is not None and old.status == "True"):
        await draft.save_status()
    return paused


def refresh_paused(obj: Conditioned) -> None:
    """Have the condition say that it holds of the object as it is now: it was put on it before anything else."""
    found = get(obj, ConditionType.PAUSED)
    if found is not None:
        put(obj, found)


def paused_condition(obj: Resource, cluster: Cluster | None) -> Condition:
    """The condition as it should be."""
    why = []
    if cluster is not None and cluster.spec.paused:
        why.append("Cluster spec.paused is set to true")
    if labels.PAUSED in obj.metadata.annotations:
        why.append(f"{obj.kind} has the {labels.PAUSED} annotation")
    if why:
        return true(ConditionType.PAUSED, Reason.PAUSED, ", ".join(why))
    return false(ConditionType.PAUSED, Reason.NOT_PAUSED)
