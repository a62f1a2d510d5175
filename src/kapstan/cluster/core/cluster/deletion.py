"""The end of a cluster, in order: workers, control plane, infrastructure. Each step begins when the one before is over.

Nothing polls: whatever goes wakes the cluster.
"""

from __future__ import annotations

from typing import TypeVar

from kapstan.cluster.contract.objects import ControlPlane, InfraCluster, ProviderObject
from kapstan.cluster.core.cluster.descendants import list_descendants, machines_left
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.deletion import COMPLETED, Stage, delete_referenced, is_to_be_deleted
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.owners import remove_finalizer
from kapstan.runtime.reconcile import Outcome

__all__ = ("delete_cluster",)

V = TypeVar("V", bound=ProviderObject)


async def delete_cluster(scope: Scope) -> Outcome:
    """Take the next step, or the last."""
    scope.stage = Stage(Reason.INTERNAL_ERROR, "The deletion could not go on, see the other conditions")
    for step in (_workers, _control_plane, _infrastructure):
        stage = await step(scope)
        if stage is not None:
            scope.stage = stage
            return None
    scope.stage = COMPLETED
    remove_finalizer(scope.cluster, labels.CLUSTER_FINALIZER)
    scope.events.normal(scope.cluster, "Deleted", f"Cluster {scope.cluster.name} has been deleted")
    return None


async def _workers(scope: Scope) -> Stage | None:
    """What the cluster owns is deleted; what others own, they delete."""
    cluster = scope.cluster
    if scope.descendants is None:
        return scope.stage
    owned = [obj for obj in scope.descendants.owned_by(cluster) if not obj.deleting]
    for obj in owned:
        await scope.client.delete(obj, uid=obj.uid)
    if owned:
        scope.descendants = await list_descendants(scope.client, cluster)
    pending = scope.descendants.pending(cluster)
    if not pending:
        return None
    return Stage(Reason.WAITING_FOR_WORKERS_DELETION, "\n".join(f"* {line}" for line in pending))


async def _control_plane(scope: Scope) -> Stage | None:
    if scope.cluster.spec.control_plane_ref is None:
        return None
    reason = Reason.WAITING_FOR_CONTROL_PLANE_DELETION
    return await _referenced(scope, scope.control_plane, ControlPlane, reason, control_plane=False)


async def _infrastructure(scope: Scope) -> Stage | None:
    if scope.cluster.spec.infrastructure_ref is None:
        return None
    reason = Reason.WAITING_FOR_INFRASTRUCTURE_DELETION
    return await _referenced(scope, scope.infrastructure, InfraCluster, reason, control_plane=True)


async def _referenced(
    scope: Scope, referenced: Referenced[V] | None, view: type[V], reason: str, *, control_plane: bool
) -> Stage | None:
    """Delete a provider's object, once no machine needs it any more."""
    if not is_to_be_deleted(referenced):
        return None
    if referenced is None or referenced.error is not None:
        return scope.stage
    begins = referenced.found is not None and not referenced.found.deleting
    if begins and await machines_left(scope.client, scope.cluster, control_plane=control_plane):
        # The cache has not heard of them yet; when it does, they wake us.
        return Stage(Reason.WAITING_FOR_WORKERS_DELETION, "Machines have been made meanwhile, which have to go first")
    if await delete_referenced(scope.client, scope.providers, referenced, view, scope.cluster.namespace):
        return None
    return Stage(reason, f"Waiting for {referenced.kind} to be deleted")
