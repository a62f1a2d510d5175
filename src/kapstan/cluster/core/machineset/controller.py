"""Keeps so many machines of a kind: makes what is missing, deletes what is too many, replaces what is not well.

Read downwards: `reconcile_held`, then the phases in the files of their names, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.clusterindex import ClusterIndex
from kapstan.cluster.core.external import DEFINITIONS, Providers
from kapstan.cluster.core.machineset.creation import complete_machines
from kapstan.cluster.core.machineset.deletion import delete_set
from kapstan.cluster.core.machineset.members import reconcile_members
from kapstan.cluster.core.machineset.memory import Memory
from kapstan.cluster.core.machineset.propagation import propagate
from kapstan.cluster.core.machineset.remediation import reconcile_unhealthy
from kapstan.cluster.core.machineset.replicas import reconcile_replicas
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.machineset.status import observe
from kapstan.cluster.core.machinesource import MachineSource
from kapstan.cluster.core.selection import selects
from kapstan.cluster.core.templates import find_templates, references_of
from kapstan.cluster.core.webhooks.machineset import default_machine_set
from kapstan.cluster.core.webhooks.workers import worker_errors
from kapstan.cluster.core.workers import WorkersReconciler
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.owners import set_owner
from kapstan.machinery.validation import FieldError
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.predicate import annotation_changed, generation_changed, label_changed
from kapstan.runtime.reconcile import Outcome
from kapstan.runtime.source import Source

__all__ = ("MachineSetReconciler",)


def _concerns_sets(change: Change) -> bool:
    """Whether a change of a cluster is one that its sets have to know of: pause, and what preflight checks look at."""
    if change.old is None or change.new is None:
        return True
    return _said_to_sets(change.old.decode(Cluster)) != _said_to_sets(change.new.decode(Cluster))


def _said_to_sets(cluster: Cluster) -> object:
    control_plane = cluster.status.control_plane
    running = [count.version for count in control_plane.versions] if control_plane is not None else []
    topology = cluster.spec.topology.version if cluster.spec.topology is not None else ""
    return cluster.spec.paused, cluster.spec.control_plane_ref, running, topology, cluster.metadata.annotations


@controller(
    MachineSet,
    reads=[DEFINITIONS, Cluster, Machine, MachineDeployment],
    when=generation_changed | label_changed | annotation_changed,  # its status is its own
    max_concurrent_reconciles=50,
    rest=1,
)
@rbac("cluster.x-k8s.io", "machinesets;machinesets/status;machinesets/finalizers", verbs="get;list;watch;patch;update")
@rbac("cluster.x-k8s.io", "machines;machines/status", verbs="get;list;watch;create;patch;update;delete")
@rbac(
    "infrastructure.cluster.x-k8s.io;bootstrap.cluster.x-k8s.io",
    "*",
    verbs="get;list;watch;create;update;patch;delete",
)
class MachineSetReconciler(WorkersReconciler[MachineSet]):
    """Reconciles MachineSets."""

    finalizer = labels.MACHINE_SET_FINALIZER

    def __init__(self, client: CachedClient) -> None:
        self._providers = Providers(client, MachineSet, lambda found: references_of(found.spec.template))
        self._informers = client.cache.factory
        self._index = ClusterIndex(self._informers.shared(MachineSet))
        self._memory = Memory()

    def prepare(self, workers: MachineSet, cluster: Cluster) -> None:
        default_machine_set(workers)
        if _is_standalone(workers):
            set_owner(cluster, workers)

    def errors(self, workers: MachineSet) -> Iterable[FieldError]:
        return worker_errors(workers, None)

    async def reconcile_held(self, draft: Draft[MachineSet], cluster: Cluster) -> Outcome:
        scope = Scope(
            draft=draft,
            cluster=cluster,
            client=self.client,
            providers=self._providers,
            events=self.events,
            memory=self._memory,
            deployment=await self._deployment_of(draft.obj),
        )
        return await run_phases(scope, _DELETION if draft.obj.deleting else _PHASES, observe)

    async def _deployment_of(self, machine_set: MachineSet) -> MachineDeployment | None:
        name = machine_set.metadata.labels.get(labels.DEPLOYMENT_NAME)
        return await self.client.find(MachineDeployment, name, machine_set.namespace) if name else None

    # --- What wakes a set -------------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """Providers' templates, and machines."""
        return [self._providers, MachineSource(self._informers.shared(Machine), self._sets_of)]

    def _sets_of(self, change: Change) -> Iterable[ObjectKey]:
        """The sets that control a machine, or could adopt it."""
        for state in change.states:
            controllers = [owner for owner in state.owners() if owner.controller]
            yield from (ObjectKey(state.namespace, owner.name) for owner in controllers if owner.kind == "MachineSet")
            if not controllers and state is change.new:
                for snapshot in self._informers.shared(MachineSet).store.select(state.namespace):
                    if selects(snapshot.decode(MachineSet).spec.selector, state.labels):
                        yield snapshot.key

    @watches(Cluster, when=_concerns_sets)
    def sets_of_cluster(self, cluster: Cluster) -> Iterable[ObjectKey]:
        return self._index.of(cluster.key)

    @watches(MachineDeployment, when=generation_changed | annotation_changed)
    def sets_of_deployment(self, deployment: MachineDeployment) -> Iterable[ObjectKey]:
        """Which revision is the current one, and how many machines may be remediated at once."""
        return [one.key for one in self._informers.shared(MachineSet).store.owned_by(deployment.uid)]


def _is_standalone(machine_set: MachineSet) -> bool:
    """Whether nobody made the set but its user. Its deployment may only not have adopted it again yet."""
    owned = any(ref.kind in ("MachineDeployment", "Cluster") for ref in machine_set.metadata.owner_references)
    return not owned and labels.DEPLOYMENT_NAME not in machine_set.metadata.labels


async def _reconcile_templates(scope: Scope) -> Outcome:
    await find_templates(scope.client, scope.providers, scope.templates, scope.cluster)
    return None


_ALWAYS: tuple[Phase[Scope], ...] = (_reconcile_templates, reconcile_members)
_PHASES: tuple[Phase[Scope], ...] = (*_ALWAYS, reconcile_unhealthy, propagate, complete_machines, reconcile_replicas)
_DELETION: tuple[Phase[Scope], ...] = (*_ALWAYS, delete_set)
