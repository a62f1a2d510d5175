"""Keeps a SimulatedCluster: it is there when its time has come, and goes when its last computer has gone.

It never waits for an endpoint: a hosted control plane chooses its own, and does so while we are at work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.simulatedcluster import InfrastructureInitialization, SimulatedCluster
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachine
from kapstan.cluster.infrastructure.simulated.fate import duration
from kapstan.cluster.infrastructure.simulated.owner import owner_name
from kapstan.cluster.infrastructure.simulated.progress import remaining, this_moment
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, put, true
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.ownstatus import beyond_own_status
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import shortened
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.owners import add_finalizer, has_finalizer, remove_finalizer
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.predicate import generation_changed
from kapstan.runtime.reconcile import Outcome, Reconciler, Result

__all__ = ("FINALIZER", "SimulatedClusterReconciler")

FINALIZER = "infrastructure.cluster.x-k8s.io/simulatedcluster"


@dataclass
class Scope:
    """What one reconcile knows."""

    draft: Draft[SimulatedCluster]
    client: CachedClient
    rest: timedelta = field(default_factory=timedelta)  # of provisioning
    machines: Sequence[str] = ()  # that keep it from being deleted

    @property
    def cluster(self) -> SimulatedCluster:
        return self.draft.obj


@controller(SimulatedCluster, reads=[Cluster, SimulatedMachine], when=beyond_own_status, max_concurrent_reconciles=20)
@rbac(GROUP, "simulatedclusters;simulatedclusters/status", verbs="get;list;watch;patch")
class SimulatedClusterReconciler(Reconciler[SimulatedCluster]):
    """Reconciles SimulatedClusters."""

    async def reconcile(self, infrastructure: SimulatedCluster) -> Outcome:
        if labels.MANAGED_BY in infrastructure.metadata.annotations:
            return None  # somebody else looks after it
        name = owner_name(infrastructure, "Cluster")
        cluster = await self.client.find(Cluster, name, infrastructure.namespace) if name else None
        if cluster is None and not infrastructure.deleting:
            return None  # core has not said yet whose it is; it does so by changing the object
        draft = Draft(self.client, infrastructure)
        if not await _is_held(draft) or await is_paused(draft, cluster):
            return None
        scope = Scope(draft, self.client)
        return await run_phases(scope, _DELETION if infrastructure.deleting else _PHASES, observe)

    @watches(Cluster, when=generation_changed)
    def infrastructure_of(self, cluster: Cluster) -> Iterable[ObjectKey]:
        """A cluster that is paused, or goes on."""
        ref = cluster.spec.infrastructure_ref
        ours = ref is not None and (ref.api_group, ref.kind) == (GROUP, "SimulatedCluster")
        return [ObjectKey(cluster.namespace, ref.name)] if ref is not None and ours else []

    @watches(SimulatedMachine, when=lambda change: change.new is None)
    def waiting_for(self, machine: SimulatedMachine) -> Iterable[ObjectKey]:
        """With its last computer gone, an infrastructure can go; none that carries the label of another cluster."""
        name = machine.metadata.labels.get(labels.CLUSTER_NAME)
        found = self.client.cache.factory.shared(SimulatedCluster).store.select(machine.namespace)
        return [one.key for one in found if one.deleting and one.labels.get(labels.CLUSTER_NAME, name) == name]


async def _is_held(draft: Draft[SimulatedCluster]) -> bool:
    """Nothing is done for an infrastructure that could vanish before it is undone."""
    if draft.obj.deleting:
        return has_finalizer(draft.obj, FINALIZER)
    add_finalizer(draft.obj, FINALIZER)
    await draft.save()
    return True


# --- Phases -----------------------------------------------------------------------------------------------------------


async def provision(scope: Scope) -> Outcome:
    cluster = scope.cluster
    status = cluster.status
    status.failure_domains = cluster.spec.failure_domains
    if status.initialization is not None and status.initialization.provisioned:
        return None
    status.start_time = status.start_time or this_moment()
    scope.rest = remaining(status.start_time, duration(cluster.spec.provisioning, cluster.uid, "provisioning"))
    if scope.rest:
        return Result(requeue_after=scope.rest)
    status.initialization = InfrastructureInitialization(provisioned=True)
    return None


async def delete(scope: Scope) -> Outcome:
    """A network cannot be taken away from under computers that use it."""
    cluster = scope.cluster
    name = owner_name(cluster, "Cluster") or cluster.metadata.labels.get(labels.CLUSTER_NAME, "")
    machines = await scope.client.list(SimulatedMachine, cluster.namespace, labels={labels.CLUSTER_NAME: name})
    scope.machines = sorted(machine.name for machine in machines)
    if not scope.machines:
        remove_finalizer(cluster, FINALIZER)
    return None


_PHASES: tuple[Phase[Scope], ...] = (provision,)
_DELETION: tuple[Phase[Scope], ...] = (delete,)


# --- Status -----------------------------------------------------------------------------------------------------------


def observe(scope: Scope) -> Outcome:
    cluster = scope.cluster
    if cluster.deleting:
        waiting = f"SimulatedMachines {shortened(scope.machines)} still exist"
        put(cluster, false(ConditionType.READY, Reason.DELETING, waiting))
        put(cluster, true(ConditionType.DELETING, Reason.DELETING, waiting))
    elif scope.rest:
        put(cluster, false(ConditionType.READY, "Provisioning", "The infrastructure is being provisioned"))
    else:
        put(cluster, true(ConditionType.READY, "Provisioned"))
    return None
