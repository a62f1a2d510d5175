"""Revisions: the ReplicaSets of a Deployment, which of them is the current one, and what each remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapstan.k8s.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from kapstan.machinery.meta import LabelSelector, ObjectMeta
from kapstan.machinery.owners import owner_reference
from kapstan.simulation.deployment.scaling import DESIRED, MAX, limits, wanted
from kapstan.simulation.templates import POD_TEMPLATE_HASH, hash_of, same, with_label

__all__ = (
    "REVISION",
    "current",
    "desired_replica_set",
    "inherited_annotations",
    "next_revision",
    "replica_annotations",
    "revision",
    "superseded",
)

REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
# What a ReplicaSet does not take over from its Deployment.
_OWN = {"kubectl.kubernetes.io/last-applied-configuration", REVISION, _HISTORY, DESIRED, MAX}


def current(deployment: Deployment, sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The set of the present template; of several (hashes have changed with releases), the oldest."""
    by_age = sorted(sets, key=lambda one: (str(one.metadata.creation_timestamp), one.name))
    for one in by_age:
        if one.spec.template is not None and same(one.spec.template, deployment.spec.template):
            return one
    return None


def revision(obj: Deployment | ReplicaSet) -> int:
    try:
        return int(obj.metadata.annotations.get(REVISION, "0"))
    except ValueError:
        return 0


def next_revision(old: Sequence[ReplicaSet]) -> int:
    return max(map(revision, old), default=0) + 1


def replica_annotations(deployment: Deployment) -> dict[str, str]:
    """What a set remembers of the Deployment's size, so that a change of it is noticed and shared fairly."""
    want = wanted(deployment)
    return {DESIRED: str(want), MAX: str(want + limits(deployment)[0])}


def inherited_annotations(deployment: Deployment, had: Mapping[str, str], number: int) -> dict[str, str]:
    """The annotations of the current set: the Deployment's, its revision, and the revisions that it was before."""
    kept = {key: value for key, value in deployment.metadata.annotations.items() if key not in _OWN}
    annotations = {**had, **kept}
    before = int(had.get(REVISION, "0") or 0)
    if before < number:
        annotations[REVISION] = str(number)
        if before:
            history = [*filter(None, had.get(_HISTORY, "").split(",")), str(before)]
            annotations[_HISTORY] = ",".join(dict.fromkeys(history))
    return annotations


def desired_replica_set(deployment: Deployment, number: int, size: int) -> ReplicaSet:
    """A set for the present template."""
    hash = hash_of(deployment.spec.template, deployment.status.collision_count)
    template = with_label(deployment.spec.template, POD_TEMPLATE_HASH, hash)
    selector = deployment.spec.selector
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{deployment.name}-{hash}",
            namespace=deployment.namespace,
            labels=template.metadata.labels if template.metadata else {},
            annotations={**inherited_annotations(deployment, {}, number), **replica_annotations(deployment)},
            owner_references=[owner_reference(deployment, controller=True)],
        ),
        spec=ReplicaSetSpec(
            replicas=size,
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=LabelSelector(
                match_labels={**selector.match_labels, POD_TEMPLATE_HASH: hash},
                match_expressions=selector.match_expressions,
            ),
            template=template,
        ),
    )


def superseded(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Earlier sets beyond what is kept for rolling back, the oldest revisions first. None that still has pods."""
    limit = deployment.spec.revision_history_limit
    alive = sorted((one for one in old if not one.deleting), key=revision)
    if limit is None or len(alive) <= limit:
        return []
    return [one for one in alive[: len(alive) - limit] if _is_idle(one)]


def _is_idle(one: ReplicaSet) -> bool:
    seen = (one.status.observed_generation or 0) >= one.metadata.generation
    return seen and one.spec.replicas == 0 and not one.status.replicas
