"""Scaling: how many pods each ReplicaSet of a Deployment may have, so that rollouts keep their promises.

Pure arithmetic. Never more than `replicas + maxSurge` pods, never fewer available than `replicas - maxUnavailable`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from kapstan.k8s.apps_v1 import Deployment, ReplicaSet

__all__ = (
    "DESIRED",
    "MAX",
    "Sizes",
    "active",
    "available",
    "limits",
    "max_unavailable",
    "new_size",
    "old_sizes",
    "proportional_sizes",
    "replicas",
    "total",
    "wanted",
)

# The size of each ReplicaSet, by its name.
Sizes: TypeAlias = Mapping[str, int]

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"


def wanted(deployment: Deployment) -> int:
    return 1 if deployment.spec.replicas is None else deployment.spec.replicas


def replicas(replica_set: ReplicaSet | None) -> int:
    """How many pods a set shall have."""
    if replica_set is None:
        return 0
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def total(sets: Sequence[ReplicaSet]) -> int:
    return sum(map(replicas, sets))


def available(sets: Sequence[ReplicaSet]) -> int:
    return sum(one.status.available_replicas or 0 for one in sets)


def active(sets: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    return [one for one in sets if replicas(one) > 0]


def limits(deployment: Deployment) -> tuple[int, int]:
    """How many pods too many, and how many unavailable, a rollout may have. Both being nothing, it could not move."""
    strategy = deployment.spec.strategy
    rolling = strategy.rolling_update if strategy is not None else None
    if strategy is None or strategy.type != "RollingUpdate" or rolling is None:
        return 0, 0
    surge = _resolved(rolling.max_surge, wanted(deployment), round_up=True)
    unavailable = _resolved(rolling.max_unavailable, wanted(deployment), round_up=False)
    return (0, 1) if surge == unavailable == 0 else (surge, unavailable)


def max_unavailable(deployment: Deployment) -> int:
    strategy = deployment.spec.strategy
    if strategy is None or strategy.type != "RollingUpdate" or wanted(deployment) == 0:
        return 0
    return min(limits(deployment)[1], wanted(deployment))


def new_size(deployment: Deployment, new: ReplicaSet | None, every: Sequence[ReplicaSet]) -> int:
    """How many pods the current revision may have by now."""
    have, want = replicas(new), wanted(deployment)
    strategy = deployment.spec.strategy
    if strategy is not None and strategy.type == "Recreate":
        return want
    if new is not None and have >= want:
        return want
    most = want + limits(deployment)[0]
    room = most - total(every)
    return have + max(0, min(room, want - have))


def old_sizes(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Sizes:
    """How many pods earlier revisions keep: first those go that are not available anyway, then as many as may."""
    sizes = {one.metadata.name: replicas(one) for one in sorted(old, key=_age)}
    least = wanted(deployment) - max_unavailable(deployment)
    unavailable = replicas(new) - (new.status.available_replicas or 0)
    spare = total([new, *old]) - least - unavailable
    if not total(old) or spare <= 0:
        return sizes
    for one in sorted(old, key=_age):
        ill = max(0, replicas(one) - (one.status.available_replicas or 0))
        gone = min(spare, ill)
        sizes[one.name] -= gone
        spare -= gone
    spare = available([new, *old]) - least
    for name, size in sizes.items():
        gone = max(0, min(spare, size))
        sizes[name] -= gone
        spare -= gone
    return sizes


def proportional_sizes(deployment: Deployment, sets: Sequence[ReplicaSet]) -> Sizes:
    """How sets share a change of the whole in the middle of a rollout: each in proportion to its size."""
    want = wanted(deployment)
    most = want + limits(deployment)[0] if want else 0
    change = most - total(sets)
    ordered = sorted(sets, key=_age, reverse=change > 0)
    ordered.sort(key=lambda one: -replicas(one))
    sizes: dict[str, int] = {}
    done = 0
    for one in ordered:
        share = _share(deployment, one, change, done) if change else 0
        sizes[one.name] = replicas(one) + share
        done += share
    if ordered and change:
        first = ordered[0].name
        sizes[first] = max(0, sizes[first] + change - done)
    return sizes


def _share(deployment: Deployment, one: ReplicaSet, change: int, done: int) -> int:
    if not replicas(one) or change == done:
        return 0
    left = change - done
    share = _fraction(deployment, one)
    return min(share, left) if change > 0 else max(share, left)


def _fraction(deployment: Deployment, one: ReplicaSet) -> int:
    """By how much a set grows if all grow alike: it remembers of how many it was a part."""
    if wanted(deployment) == 0:
        return -replicas(one)
    before = int(one.metadata.annotations.get(MAX, "0")) or deployment.status.replicas or 1
    scaled = replicas(one) * (wanted(deployment) + limits(deployment)[0]) / before
    return math.floor(scaled + 0.5) - replicas(one)


def _resolved(value: int | str | None, whole: int, *, round_up: bool) -> int:
    if value is None:
        value = "25%"
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * whole / 100
    return math.ceil(part) if round_up else math.floor(part)


def _age(replica_set: ReplicaSet) -> tuple[float, str]:
    created = replica_set.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, replica_set.name)
