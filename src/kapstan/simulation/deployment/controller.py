"""DeploymentReconciler: brings a Deployment's pods to its present template, as fast as its strategy allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapstan.client.interface import Patch
from kapstan.k8s.apps_v1 import Deployment, ReplicaSet
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import Watched, controller
from kapstan.runtime.reconcile import Outcome, Reconciler, Result
from kapstan.simulation.claims import claimed
from kapstan.simulation.deployment import scaling
from kapstan.simulation.deployment.revisions import (
    REVISION,
    current,
    desired_replica_set,
    inherited_annotations,
    next_revision,
    replica_annotations,
    revision,
    superseded,
)
from kapstan.simulation.deployment.status import (
    PROGRESSING,
    condition,
    counted,
    has_deadline,
    is_complete,
    rolled_out,
    seconds_to_deadline,
    with_condition,
)
from kapstan.simulation.pods import is_finished
from kapstan.simulation.templates import same
from kapstan.simulation.writing import write_status

__all__ = ("DeploymentReconciler",)


def _recreates(change: Change) -> list[ObjectKey]:
    """When a pod is gone, the Deployment may be waiting for just that: `<deployment>-<hash>` is the set's name."""
    if change.new is not None or change.old is None:
        return []
    return [
        ObjectKey(change.key.namespace, owner.name.rpartition("-")[0])
        for owner in change.old.owners()
        if owner.kind == "ReplicaSet" and owner.controller
    ]


@controller(
    Deployment,
    name="deployment-controller",
    owns=[ReplicaSet],
    watches=[Watched(Pod, _recreates)],
    max_concurrent_reconciles=4,
)
class DeploymentReconciler(Reconciler[Deployment]):
    """Keeps the ReplicaSets of Deployments."""

    async def reconcile(self, deployment: Deployment) -> Outcome:
        sets = await claimed(self.client, deployment, ReplicaSet, deployment.spec.selector)
        if deployment.deleting:
            await self._write_counters(deployment, sets)
            return None
        await self._note_pause(deployment)
        if deployment.spec.paused or _is_scaling(deployment, sets):
            await self._scale(deployment, sets)
            return None
        if deployment.spec.strategy is not None and deployment.spec.strategy.type == "Recreate":
            return await self._recreate(deployment, sets)
        return await self._roll(deployment, sets)

    # --- Strategies -------------------------------------------------------------------------------------------------

    async def _roll(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> Outcome:
        """More of the new, then fewer of the old; the next step when the watch shows that pods have followed."""
        new, old = await self._new_and_old(deployment, sets, create=True)
        if new is None:
            return None  # another revision had its name; the status tells, and we are woken by it
        size = scaling.new_size(deployment, new, [new, *old])
        if size != scaling.replicas(new):
            new = await self._resize(deployment, new, size)
        else:
            old = await self._resize_all(deployment, old, scaling.old_sizes(deployment, new, old))
        return await self._finish(deployment, new, old)

    async def _recreate(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> Outcome:
        """Nothing of the new before everything of the old is gone."""
        new, old = await self._new_and_old(deployment, sets, create=False)
        old = await self._resize_all(deployment, old, dict.fromkeys((one.name for one in old), 0))
        if not self._have_pods(old):
            new, old = await self._new_and_old(deployment, [*old, *([new] if new else [])], create=True)
            if new is not None:
                new = await self._resize(deployment, new, scaling.wanted(deployment))
        return await self._finish(deployment, new, old)

    async def _scale(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> None:
        """The Deployment has another size, or stands still: sets keep their share of it."""
        new, old = await self._new_and_old(deployment, sets, create=False)
        every = [*([new] if new else []), *old]
        busy = scaling.active(every)
        if len(busy) <= 1:
            latest = new or max(old, key=lambda one: (str(one.metadata.creation_timestamp), one.name), default=None)
            only = busy[0] if busy else latest
            if only is not None:
                await self._resize(deployment, only, scaling.wanted(deployment))
        elif new is not None and _is_saturated(deployment, new):
            await self._resize_all(deployment, old, dict.fromkeys((one.name for one in old), 0))
        elif deployment.spec.strategy is None or deployment.spec.strategy.type == "RollingUpdate":
            await self._resize_all(deployment, busy, scaling.proportional_sizes(deployment, busy))
        if deployment.spec.paused:
            await self._clean_up(deployment, old)
        await self._write_counters(deployment, every)

    async def _finish(self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> Outcome:
        status = rolled_out(deployment, [*([new] if new else []), *old], new, now())
        if is_complete(deployment, status):
            await self._clean_up(deployment, old)
        await write_status(self.client, deployment, status)
        wait = seconds_to_deadline(deployment, status, now())
        return None if wait is None else Result(requeue_after=wait)

    # --- ReplicaSets ------------------------------------------------------------------------------------------------

    async def _new_and_old(
        self, deployment: Deployment, sets: Sequence[ReplicaSet], *, create: bool
    ) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
        """The set of the present template, with its revision, and all others."""
        new = current(deployment, sets)
        old = [one for one in sets if new is None or one.uid != new.uid]
        number = next_revision(old)
        if new is not None:
            new = await self._annotate(deployment, new, number)
        elif create:
            new = await self._create(deployment, old, number)
        if new is not None:
            await self._note_revision(deployment, new)
        return new, old

    async def _annotate(self, deployment: Deployment, new: ReplicaSet, number: int) -> ReplicaSet:
        annotations = inherited_annotations(deployment, new.metadata.annotations, number)
        changes: dict[str, object] = {}
        if annotations != new.metadata.annotations:
            changes["metadata"] = {"annotations": annotations}
        if (new.spec.min_ready_seconds or 0) != (deployment.spec.min_ready_seconds or 0):
            changes["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds or 0}
        if changes:
            new = await self.client.patch(new, Patch.merge(changes))
        if has_deadline(deployment) and condition(deployment.status, PROGRESSING) is None:
            await self._progress(deployment, "FoundNewReplicaSet", f'Found new replica set "{new.name}"')
        return new

    async def _create(self, deployment: Deployment, old: Sequence[ReplicaSet], number: int) -> ReplicaSet | None:
        wanted = desired_replica_set(deployment, number, scaling.new_size(deployment, None, old))
        try:
            new = await self.client.create(wanted)
        except AlreadyExists:
            found = await self.live.get(ReplicaSet, wanted.name, wanted.namespace)
            template = found.spec.template
            if (
                not found.is_controlled_by(deployment)
                or template is None
                or not same(template, deployment.spec.template)
            ):
                await self._collide(deployment)
                return None
            new = found
        if has_deadline(deployment):
            await self._progress(deployment, "NewReplicaSetCreated", f'Created new replica set "{new.name}"')
        if size := scaling.replicas(new):
            self._tell(deployment, new, 0, size)
        return new

    async def _collide(self, deployment: Deployment) -> None:
        """Somebody else's set has the name: the next attempt makes another one."""
        count = (deployment.status.collision_count or 0) + 1
        await write_status(self.client, deployment, deployment.status.replace(collision_count=count))

    async def _resize_all(
        self, deployment: Deployment, sets: Sequence[ReplicaSet], sizes: Mapping[str, int]
    ) -> list[ReplicaSet]:
        """An empty set that stays empty is not worth a write."""
        idle = [one for one in sets if scaling.replicas(one) == sizes[one.name] == 0]
        busy = [one for one in sets if one not in idle]
        return [*[await self._resize(deployment, one, sizes[one.name]) for one in busy], *idle]

    async def _resize(self, deployment: Deployment, one: ReplicaSet, size: int) -> ReplicaSet:
        had = scaling.replicas(one)
        annotations = replica_annotations(deployment)
        if had == size and annotations.items() <= one.metadata.annotations.items():
            return one
        changes = {"metadata": {"annotations": annotations}, "spec": {"replicas": size}}
        resized = await self.client.patch(one, Patch.merge(changes))
        if had != size:
            self._tell(deployment, one, had, size)
        return resized

    async def _clean_up(self, deployment: Deployment, old: Sequence[ReplicaSet]) -> None:
        for one in superseded(deployment, old):
            await self.client.delete(one, uid=one.uid)

    def _have_pods(self, sets: Sequence[ReplicaSet]) -> bool:
        pods = self.client.cache.factory[Pod].lister()
        return any(one.status.replicas for one in sets) or any(
            not is_finished(pod) for one in sets for pod in pods.owned_by(one)
        )

    # --- Telling ----------------------------------------------------------------------------------------------------

    async def _note_revision(self, deployment: Deployment, new: ReplicaSet) -> None:
        if revision(deployment) != revision(new):
            annotations = {REVISION: str(revision(new))}
            written = await self.client.patch(deployment, Patch.merge({"metadata": {"annotations": annotations}}))
            deployment.metadata = written.metadata

    async def _note_pause(self, deployment: Deployment) -> None:
        known = condition(deployment.status, PROGRESSING)
        if not has_deadline(deployment) or (known is not None and known.reason == "ProgressDeadlineExceeded"):
            return
        noted = known is not None and known.reason == "DeploymentPaused"
        if deployment.spec.paused and not noted:
            await self._progress(deployment, "DeploymentPaused", "Deployment is paused", "Unknown")
        elif noted and not deployment.spec.paused:
            await self._progress(deployment, "DeploymentResumed", "Deployment is resumed", "Unknown")

    async def _write_counters(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> None:
        await write_status(self.client, deployment, counted(deployment, sets, current(deployment, sets), now()))

    async def _progress(self, deployment: Deployment, reason: str, message: str, value: str = "True") -> None:
        status = with_condition(deployment.status, PROGRESSING, value, reason, message, now())
        await write_status(self.client, deployment, status)
        deployment.status = status

    def _tell(self, deployment: Deployment, one: ReplicaSet, before: int, after: int) -> None:
        direction = "up" if after > before else "down"
        note = f"Scaled {direction} replica set {one.name} from {before} to {after}"
        self.events.normal(deployment, "ScalingReplicaSet", note)


def _is_scaling(deployment: Deployment, sets: Sequence[ReplicaSet]) -> bool:
    """Whether the Deployment's size has changed since its sets got theirs."""
    noted = (one.metadata.annotations.get(scaling.DESIRED) for one in scaling.active(sets))
    return any(size is not None and size != str(scaling.wanted(deployment)) for size in noted)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    want = scaling.wanted(deployment)
    noted = new.metadata.annotations.get(scaling.DESIRED)
    return scaling.replicas(new) == want == (new.status.available_replicas or 0) and noted == str(want)
