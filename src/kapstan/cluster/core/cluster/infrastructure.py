"""The infrastructure of a cluster: the provider's object is owned, and what it says is copied.

Once provisioned a cluster stays so: infrastructure that breaks later shows in conditions.
"""

from __future__ import annotations

from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import InfraCluster
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.failure import note_failure
from kapstan.cluster.core.ownership import adopted_by_cluster, own
from kapstan.runtime.reconcile import Outcome, TerminalError

__all__ = ("reconcile_infrastructure",)


async def reconcile_infrastructure(scope: Scope) -> Outcome:
    cluster = scope.cluster
    if cluster.spec.infrastructure_ref is None:
        if not cluster.deleting and cluster.spec.topology is None:
            scope.initialized(infrastructure=True)  # somebody has seen to it
        return None
    found = await _load(scope, cluster.spec.infrastructure_ref)
    if found is None:
        return None
    await own(scope.client, found, adopted_by_cluster(found.document, cluster))
    note_failure(cluster, found)
    if found.deleting:
        return None
    provisioned = scope.initialization.infrastructure_provisioned
    if not found.provisioned and not provisioned:
        return None
    if scope.endpoint is None:
        cluster.spec.control_plane_endpoint = found.endpoint or cluster.spec.control_plane_endpoint
    cluster.status.failure_domains = found.failure_domains
    if not provisioned:
        scope.initialized(infrastructure=True)
        note = f"Cluster {cluster.name} InfrastructureProvisioned is now True"
        scope.events.normal(cluster, "InfrastructureReady", note)
    return None


async def _load(scope: Scope, ref: ContractReference) -> InfraCluster | None:
    cluster = scope.cluster
    referenced = scope.infrastructure = Referenced[InfraCluster](ref)
    found = await referenced.load(scope.providers, InfraCluster, cluster.namespace)
    if found is None and scope.initialization.infrastructure_provisioned and not cluster.deleting:
        raise TerminalError(f"{cluster}: {ref.kind} {ref.name} has been deleted after it was provisioned")
    return found
