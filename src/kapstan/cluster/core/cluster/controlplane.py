"""The control plane of a cluster: the provider's object is owned, and what it says is copied.

Without one the control plane is made of machines, and it is initialized when the first of them has a node.
"""

from __future__ import annotations

from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.failure import note_failure
from kapstan.cluster.core.ownership import adopted_by_cluster, own
from kapstan.runtime.reconcile import Outcome, TerminalError

__all__ = ("reconcile_control_plane",)


async def reconcile_control_plane(scope: Scope) -> Outcome:
    cluster = scope.cluster
    if cluster.spec.control_plane_ref is None:
        return None
    found = await _load(scope, cluster.spec.control_plane_ref)
    if found is None:
        return None
    await own(scope.client, found, adopted_by_cluster(found.document, cluster))
    note_failure(cluster, found)
    if found.deleting:
        return None
    initialized = scope.initialization.control_plane_initialized
    if not found.initialized and not initialized:
        return None
    if scope.endpoint is None:
        cluster.spec.control_plane_endpoint = found.endpoint or cluster.spec.control_plane_endpoint
    if not initialized:
        scope.initialized(control_plane=True)
        note = f"Cluster {cluster.name} ControlPlaneInitialized is now True"
        scope.events.normal(cluster, "ControlPlaneInitialized", note)
    return None


async def _load(scope: Scope, ref: ContractReference) -> ControlPlane | None:
    cluster = scope.cluster
    referenced = scope.control_plane = Referenced[ControlPlane](ref)
    found = await referenced.load(scope.providers, ControlPlane, cluster.namespace)
    if found is None and scope.initialization.control_plane_initialized and not cluster.deleting:
        raise TerminalError(f"{cluster}: {ref.kind} {ref.name} has been deleted after it was initialized")
    return found
