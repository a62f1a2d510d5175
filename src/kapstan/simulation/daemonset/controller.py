"""DaemonSetReconciler: a pod on every node that the DaemonSet is for, replaced a few at a time when it changes.

Revisions are told apart by the pods' `controller-revision-hash`; ControllerRevisions are not kept, so there is nothing
to go back to but another change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kapstan.k8s.apps_v1 import DaemonSet, DaemonSetStatus
from kapstan.k8s.core_v1 import Node, Pod
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Outcome, Reconciler, Request, Result
from kapstan.simulation.batches import in_batches
from kapstan.simulation.claims import claimed
from kapstan.simulation.daemonset.pods import (
    REVISION_HASH,
    desired_pod,
    may_stay,
    node_of,
    pattern_of,
    revision_of,
    should_run,
)
from kapstan.simulation.pods import available_after, is_available, is_finished, is_ready
from kapstan.simulation.writing import write_status

__all__ = ("DaemonSetReconciler",)


def _matters(change: Change) -> bool:
    """A node that came, went, or may now have pods that it did not have before."""
    if change.old is None or change.new is None:
        return True
    old, new = change.old.decode(Node), change.new.decode(Node)
    return (old.spec.taints, old.metadata.labels) != (new.spec.taints, new.metadata.labels)


@controller(DaemonSet, name="daemonset-controller", owns=[Pod], reads=[Node], max_concurrent_reconciles=2, rest=3)
class DaemonSetReconciler(Reconciler[DaemonSet]):
    """Keeps the pods of DaemonSets."""

    @watches(Node, when=_matters)
    def everyone(self, node: Node) -> Iterable[Request]:
        return list(self.client.cache.factory.shared(DaemonSet).store.keys())

    async def reconcile(self, daemon_set: DaemonSet) -> Outcome:
        pods = await claimed(self.client, daemon_set, Pod, daemon_set.spec.selector)
        nodes = {node.name: node for node in self.client.cache.factory[Node].lister().list()}
        if not daemon_set.deleting:
            await self._manage(daemon_set, nodes, pods)
        pods = self.client.cache.factory[Pod].lister(daemon_set.namespace).owned_by(daemon_set)
        await write_status(self.client, daemon_set, _observed(daemon_set, nodes, pods, now()))
        seconds = daemon_set.spec.min_ready_seconds or 0
        waits = [after for pod in pods if (after := available_after(pod, seconds, now()))]
        return Result(requeue_after=min(waits)) if waits else None

    async def _manage(self, daemon_set: DaemonSet, nodes: Mapping[str, Node], pods: Sequence[Pod]) -> None:
        placed, pattern = _by_node(pods), pattern_of(daemon_set)
        desired = [name for name, node in nodes.items() if should_run(pattern, node)]
        missing = [name for name in desired if name not in placed]
        gone = [pod for pod in pods if not pod.deleting and is_finished(pod)]
        for name, there in placed.items():
            stays = name in nodes and may_stay(pattern, nodes[name])
            gone += there[1:] if stays else there
        staying = [pod for there in placed.values() for pod in there if pod not in gone]
        gone += _outdated(daemon_set, staying, len(desired), now())

        async def create(node: str) -> None:
            await self.client.create(desired_pod(pattern, node))

        async def delete(pod: Pod) -> None:
            await self.client.delete(pod, uid=pod.uid)

        failures = [await in_batches(delete, gone), await in_batches(create, missing)]
        for failure in failures:
            if failure is not None:
                raise failure


def _by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """The pods of each node, those that shall stay first. One that is being deleted still has the node."""
    placed: dict[str, list[Pod]] = {}
    for pod in pods:
        if not is_finished(pod):
            placed.setdefault(node_of(pod), []).append(pod)
    for there in placed.values():
        there.sort(
            key=lambda pod: (not pod.deleting, not is_ready(pod), str(pod.metadata.creation_timestamp), pod.name)
        )
    return {
        name: [pod for pod in there if not pod.deleting] if any(not pod.deleting for pod in there) else []
        for name, there in placed.items()
    }


def _outdated(daemon_set: DaemonSet, pods: Sequence[Pod], nodes: int, moment: datetime) -> list[Pod]:
    """Pods of earlier revisions that may go now: those that are of no use, and as many others as may be missing."""
    strategy = daemon_set.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return []
    revision = revision_of(daemon_set)
    old = [pod for pod in pods if pod.metadata.labels.get(REVISION_HASH) != revision]
    seconds = daemon_set.spec.min_ready_seconds or 0
    useless = [pod for pod in old if not is_available(pod, seconds, moment)]
    useful = [pod for pod in old if is_available(pod, seconds, moment)]
    unavailable = nodes - sum(is_available(pod, seconds, moment) for pod in pods)
    room = _max_unavailable(daemon_set, nodes) - unavailable
    return [*useless, *useful[: max(0, room)]]


def _max_unavailable(daemon_set: DaemonSet, nodes: int) -> int:
    strategy = daemon_set.spec.update_strategy
    rolling = strategy.rolling_update if strategy is not None else None
    limit = rolling.max_unavailable if rolling is not None else None
    if isinstance(limit, str):
        return max(1, math.ceil(int(limit.removesuffix("%")) * nodes / 100))
    return 1 if limit is None else max(1, limit)


def _observed(
    daemon_set: DaemonSet, nodes: Mapping[str, Node], pods: Sequence[Pod], moment: datetime
) -> DaemonSetStatus:
    pattern = pattern_of(daemon_set)
    desired = {name for name, node in nodes.items() if should_run(pattern, node)}
    there = {name: pods_there[0] for name, pods_there in _by_node(pods).items() if pods_there}
    right = [pod for name, pod in there.items() if name in desired]
    revision, seconds = revision_of(daemon_set), daemon_set.spec.min_ready_seconds or 0
    available = sum(is_available(pod, seconds, moment) for pod in right)
    return DaemonSetStatus(
        current_number_scheduled=len(right),
        number_misscheduled=len(there) - len(right),
        desired_number_scheduled=len(desired),
        number_ready=sum(map(is_ready, right)),
        observed_generation=daemon_set.metadata.generation,
        updated_number_scheduled=sum(pod.metadata.labels.get(REVISION_HASH) == revision for pod in right) or None,
        number_available=available or None,
        number_unavailable=len(desired) - available or None,
        collision_count=daemon_set.status.collision_count,
        conditions=daemon_set.status.conditions,
    )
