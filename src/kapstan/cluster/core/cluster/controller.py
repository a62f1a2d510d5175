"""Keeps a Cluster together: its infrastructure, its control plane, its kubeconfig, and what is known of its machines.

Read downwards: `reconcile`, then the phases in the files of their names, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct, field

from kapstan.client.interface import PartialObjectMetadata
from kapstan.cluster.api.core import Cluster, ClusterClass, Machine, MachineDeployment, MachinePool, MachineSet
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.core.cluster.controlplane import reconcile_control_plane
from kapstan.cluster.core.cluster.deletion import delete_cluster
from kapstan.cluster.core.cluster.descendants import list_descendants
from kapstan.cluster.core.cluster.infrastructure import reconcile_infrastructure
from kapstan.cluster.core.cluster.kubeconfig import reconcile_kubeconfig
from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.core.cluster.status import PROBE_GRACE, observe
from kapstan.cluster.core.external import DEFINITIONS, Providers
from kapstan.cluster.remote.clustercache import SECRETS, ClusterCache
from kapstan.cluster.remote.sources import ConnectionSource
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.ownstatus import beyond_own_status
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.cluster.skeleton.sources import Patient
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.owners import add_finalizer, has_finalizer
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.reconcile import Outcome, Reconciler
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Source

__all__ = ("ClusterReconciler", "references")

# A change that only moves counters is not urgent.
_PATIENCE = 0.5  # seconds


def references(cluster: Cluster) -> Iterable[ContractReference]:
    """The providers' objects that a cluster refers to."""
    refs = (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref)
    return [ref for ref in refs if ref is not None]


@controller(
    Cluster,
    reads=[DEFINITIONS, ClusterClass, Machine, MachineDeployment, MachineSet, MachinePool, SECRETS],
    when=beyond_own_status,
    max_concurrent_reconciles=50,
    rest=1,
)
@rbac("cluster.x-k8s.io", "clusters;clusters/status;clusters/finalizers", verbs="get;list;watch;patch;update")
@rbac(
    "cluster.x-k8s.io",
    "machines;machinedeployments;machinesets;machinepools",
    verbs="get;list;watch;delete",
)
@rbac(
    "infrastructure.cluster.x-k8s.io;bootstrap.cluster.x-k8s.io;controlplane.cluster.x-k8s.io",
    "*",
    verbs="get;list;watch;create;update;patch;delete",
)
@rbac("", "secrets", verbs="get;list;watch;create;patch;update")
class ClusterReconciler(Reconciler[Cluster]):
    """Reconciles Clusters."""

    def __init__(self, client: CachedClient, clusters: ClusterCache) -> None:
        self._clusters = clusters
        self._providers = Providers(client, Cluster, references)
        self._informers = client.cache.factory

    async def reconcile(self, cluster: Cluster) -> Outcome:
        draft = Draft(self.client, cluster)
        if not await self._is_held(draft):
            return None
        if await is_paused(draft, cluster):
            return None
        scope = Scope(
            draft=draft,
            client=self.client,
            providers=self._providers,
            events=self.events,
            health=self._clusters.health(cluster.key),
            cluster_class=await self._class_of(cluster),
        )
        return await run_phases(scope, _DELETION if cluster.deleting else _PHASES, observe)

    async def _is_held(self, draft: Draft[Cluster]) -> bool:
        """Nothing is done for a cluster that could vanish before it is undone."""
        if draft.obj.deleting:
            return has_finalizer(draft.obj, labels.CLUSTER_FINALIZER)
        add_finalizer(draft.obj, labels.CLUSTER_FINALIZER)
        await draft.save()
        return True

    async def _class_of(self, cluster: Cluster) -> ClusterClass | None:
        if cluster.spec.topology is None:
            return None
        ref = cluster.spec.topology.class_ref
        return await self.client.find(ClusterClass, ref.name, ref.namespace or cluster.namespace)

    # --- What wakes a cluster ---------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """Providers' objects, the connection to the workload cluster, and what carries the cluster's label."""
        connections = ConnectionSource(self._clusters, lambda cluster: [cluster], grace=PROBE_GRACE)
        parts = [
            Patient(self._informers.shared(kind), kind, _cluster_of, patience=_PATIENCE, urgent=_is_urgent)
            for kind in (Machine, MachineDeployment, MachineSet, MachinePool)
        ]
        return [self._providers, connections, *parts]

    @watches(SECRETS, when=lambda change: change.created and change.key.name.endswith("-ca"))
    def signed_by(self, secret: PartialObjectMetadata) -> Iterable[ObjectKey]:
        """With its authority, a cluster without a control plane provider can have a kubeconfig."""
        name = secret.metadata.labels.get(labels.CLUSTER_NAME)
        return [ObjectKey(secret.namespace, name)] if name else []


def _cluster_of(change: Change) -> Iterable[ObjectKey]:
    return {
        ObjectKey(state.namespace, state.labels[labels.CLUSTER_NAME])
        for state in change.states
        if labels.CLUSTER_NAME in state.labels
    }


def _is_urgent(change: Change) -> bool:
    """What goes may be what a deletion waits for; workers that become available, or a first node of the control plane,
    are what somebody waits for. Single machines are told of by whoever has them."""
    if change.old is None or change.new is None:
        return change.new is None
    return _waited_for(change.old) != _waited_for(change.new)


async def _reconcile_descendants(scope: Scope) -> Outcome:
    scope.descendants = await list_descendants(scope.client, scope.cluster)
    return None


_ALWAYS: tuple[Phase[Scope], ...] = (reconcile_infrastructure, reconcile_control_plane, _reconcile_descendants)
_PHASES: tuple[Phase[Scope], ...] = (*_ALWAYS, reconcile_kubeconfig)
_DELETION: tuple[Phase[Scope], ...] = (*_ALWAYS, delete_cluster)


class _Condition(Struct):
    type: str
    status: str


class _Status(Struct, rename="camel"):
    conditions: list[_Condition] = []
    node_ref: Raw = Raw(b"")


class _Peek(Struct):
    status: _Status = field(default_factory=_Status)


_peek = msgspec.json.Decoder(_Peek).decode


def _waited_for(state: Snapshot) -> object:
    status = _peek(state.data).status
    if labels.CONTROL_PLANE in state.labels:
        return bytes(status.node_ref)
    available = any(one.type == "Available" and one.status == "True" for one in status.conditions)
    return available and not bytes(status.node_ref)
