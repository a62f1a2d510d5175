"""The control plane of a cluster: the provider's object is owned, and what it says is copied.

Without one the control plane is made of machines, and it is initialized when the first of them has a node.
"""

from __future__ import annotations

from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.cluster.part import load_part
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.external import Referenced
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_control_plane",)


async def reconcile_control_plane(scope: Scope) -> Outcome:
    cluster = scope.cluster
    if cluster.spec.control_plane_ref is None:
        return None
    initialized = scope.initialization.control_plane_initialized
    referenced = scope.control_plane = Referenced[ControlPlane](cluster.spec.control_plane_ref)
    found = await load_part(scope, referenced, ControlPlane, lost="it was initialized" if initialized else "")
    if found is None or not (found.initialized or initialized):
        return None
    if scope.endpoint is None:
        cluster.spec.control_plane_endpoint = found.endpoint or cluster.spec.control_plane_endpoint
    if not initialized:
        scope.initialized(control_plane=True)
        note = f"Cluster {cluster.name} ControlPlaneInitialized is now True"
        scope.events.normal(cluster, "ControlPlaneInitialized", note)
    return None
