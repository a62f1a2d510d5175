"""ReplicaSetReconciler: as many pods of the template as are wanted, no more and no fewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kapstan.k8s.apps_v1 import ReplicaSet
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery import labels
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Outcome, Reconciler, Request, Result
from kapstan.simulation.batches import in_batches
from kapstan.simulation.claims import claimed
from kapstan.simulation.pods import available_after, is_active
from kapstan.simulation.replicaset.ranking import surplus
from kapstan.simulation.replicaset.status import Failure, observed_status
from kapstan.simulation.templates import pod_of
from kapstan.simulation.writing import write_status

__all__ = ("ReplicaSetReconciler",)

_BURST = 500  # pods that one look at a set may create or delete


def _orphaned(change: Change) -> bool:
    return change.new is not None and not change.new.owner_uids


@controller(ReplicaSet, name="replicaset-controller", owns=[Pod], max_concurrent_reconciles=8)
class ReplicaSetReconciler(Reconciler[ReplicaSet]):
    """Keeps the pods of ReplicaSets."""

    @watches(Pod, when=_orphaned)
    def adopters(self, pod: Pod) -> Iterable[Request]:
        """The sets that an orphan could belong to."""
        store = self.client.cache.factory[ReplicaSet].lister(pod.namespace)
        return [
            one.key
            for one in store.list()
            if labels.from_label_selector(one.spec.selector).matches(pod.metadata.labels)
        ]

    async def reconcile(self, replica_set: ReplicaSet) -> Outcome:
        pods = await claimed(self.client, replica_set, Pod, replica_set.spec.selector)
        failure = None if replica_set.deleting else await self._manage(replica_set, pods)
        # What was written is in the cache already.
        pods = self.client.cache.factory[Pod].lister(replica_set.namespace).owned_by(replica_set)
        await write_status(self.client, replica_set, observed_status(replica_set, pods, failure, now()))
        if failure is not None:
            raise failure.error
        return _until_available(replica_set, pods)

    async def _manage(self, replica_set: ReplicaSet, pods: Sequence[Pod]) -> Failure | None:
        """Create what is missing, delete what is too much; why that did not work."""
        active = [pod for pod in pods if is_active(pod)]
        missing = (1 if replica_set.spec.replicas is None else replica_set.spec.replicas) - len(active)
        if missing > 0:
            return await self._create(replica_set, min(missing, _BURST))
        return await self._delete(surplus(active, min(-missing, _BURST)))

    async def _create(self, replica_set: ReplicaSet, count: int) -> Failure | None:
        if replica_set.spec.template is None:
            return None
        pod = pod_of(replica_set.spec.template, replica_set)
        error = await in_batches(self.client.create, [pod] * count)
        if error is None:
            return None
        self.events.warning(replica_set, "FailedCreate", f"Error creating: {error}")
        return Failure("FailedCreate", error)

    async def _delete(self, pods: Sequence[Pod]) -> Failure | None:
        async def delete(pod: Pod) -> None:
            await self.client.delete(pod, uid=pod.uid)

        error = await in_batches(delete, pods)
        return None if error is None else Failure("FailedDelete", error)


def _until_available(replica_set: ReplicaSet, pods: Iterable[Pod]) -> Outcome:
    """A ready pod becomes available by the mere passing of time, which nobody tells us of."""
    seconds = replica_set.spec.min_ready_seconds or 0
    waits = [after for pod in pods if (after := available_after(pod, seconds, now()))]
    return Result(requeue_after=min(waits)) if waits else None
