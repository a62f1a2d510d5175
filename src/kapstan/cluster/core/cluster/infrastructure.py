"""The infrastructure of a cluster: the provider's object is owned, and what it says is copied.

Once provisioned a cluster stays so: infrastructure that breaks later shows in conditions.
"""

from __future__ import annotations

from kapstan.cluster.contract.objects import InfraCluster
from kapstan.cluster.core.cluster.part import load_part
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.external import Referenced
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_infrastructure",)


async def reconcile_infrastructure(scope: Scope) -> Outcome:
    cluster = scope.cluster
    if cluster.spec.infrastructure_ref is None:
        if not cluster.deleting and cluster.spec.topology is None:
            scope.initialized(infrastructure=True)  # somebody has seen to it
        return None
    provisioned = scope.initialization.infrastructure_provisioned
    referenced = scope.infrastructure = Referenced[InfraCluster](cluster.spec.infrastructure_ref)
    found = await load_part(scope, referenced, InfraCluster, lost="it was provisioned" if provisioned else "")
    if found is None or not (found.provisioned or provisioned):
        return None
    if scope.endpoint is None:
        cluster.spec.control_plane_endpoint = found.endpoint or cluster.spec.control_plane_endpoint
    cluster.status.failure_domains = found.failure_domains
    if not provisioned:
        scope.initialized(infrastructure=True)
        note = f"Cluster {cluster.name} InfrastructureProvisioned is now True"
        scope.events.normal(cluster, "InfrastructureReady", note)
    return None
