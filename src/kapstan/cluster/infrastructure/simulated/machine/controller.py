"""Keeps a SimulatedMachine: a computer that boots, runs as a node of its cluster, fails as it is told to, and goes.

Read downwards: `reconcile`, then the phases in the files of their names, in the order in which they run. None of them
waits: what takes time is looked at again when it is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from kapstan.client.interface import PartialObjectMetadata
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.api.core.machine import Machine
from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachine
from kapstan.cluster.infrastructure.simulated.computers import Computers
from kapstan.cluster.infrastructure.simulated.machine.boot import boot, hold
from kapstan.cluster.infrastructure.simulated.machine.deletion import FINALIZER, delete_computer
from kapstan.cluster.infrastructure.simulated.machine.node import run_node
from kapstan.cluster.infrastructure.simulated.machine.scope import Scope
from kapstan.cluster.infrastructure.simulated.machine.status import observe
from kapstan.cluster.infrastructure.simulated.owner import owner_name
from kapstan.cluster.remote.clustercache import SECRETS, ClusterCache
from kapstan.cluster.remote.sources import ConnectionSource
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.ownstatus import beyond_own_status
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.labels import from_labels
from kapstan.machinery.owners import add_finalizer, has_finalizer
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.predicate import generation_changed
from kapstan.runtime.reconcile import Outcome, Reconciler
from kapstan.runtime.source import Source

__all__ = ("FINALIZER", "SimulatedMachineReconciler")

_NO_GRACE = timedelta()  # only whether there is a connection matters


def _concerns_computers(change: Change) -> bool:
    """Whether a change of a cluster is one that its computers have to know of; its counters are not."""
    if change.old is None or change.new is None:
        return True
    return _said_to_computers(change.old.decode(Cluster)) != _said_to_computers(change.new.decode(Cluster))


def _said_to_computers(cluster: Cluster) -> object:
    initialization = cluster.status.initialization
    return cluster.spec.paused, initialization and initialization.infrastructure_provisioned


@controller(SimulatedMachine, reads=[Cluster, Machine, SECRETS], when=beyond_own_status, max_concurrent_reconciles=100)
@rbac(GROUP, "simulatedmachines;simulatedmachines/status", verbs="get;list;watch;patch")
@rbac("", "secrets", verbs="get;list;watch;patch")
class SimulatedMachineReconciler(Reconciler[SimulatedMachine]):
    """Reconciles SimulatedMachines."""

    def __init__(self, client: CachedClient, clusters: ClusterCache, computers: Computers) -> None:
        self._clusters, self._computers = clusters, computers
        self._store = client.cache.factory.shared(SimulatedMachine).store
        self._machines = client.cache.factory[Machine]
        self._machines.add_index(_DATA, _data_secret)

    async def reconcile(self, computer: SimulatedMachine) -> Outcome:
        name = owner_name(computer, "Machine")
        machine = await self.client.find(Machine, name, computer.namespace) if name else None
        if machine is None and not computer.deleting:
            return None  # core has not said yet whose it is; it does so by changing the object
        if computer.deleting and not has_finalizer(computer, FINALIZER):
            return None
        cluster = await self._cluster_of(computer, machine)
        draft = Draft(self.client, computer)
        if await is_paused(draft, cluster):
            return None
        scope = Scope(draft, machine, cluster, self._computers, self.live)
        if computer.deleting:
            return await run_phases(scope, _DELETION, observe)
        add_finalizer(computer, FINALIZER)
        return await run_phases(scope, _PHASES, observe)

    async def _cluster_of(self, computer: SimulatedMachine, machine: Machine | None) -> Cluster | None:
        name = machine.spec.cluster_name if machine else computer.metadata.labels.get(labels.CLUSTER_NAME)
        return await self.client.find(Cluster, name, computer.namespace) if name else None

    # --- What wakes a computer --------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """The connection to the workload cluster."""
        return [ConnectionSource(self._clusters, self._of_cluster, grace=_NO_GRACE)]

    @watches(Machine, when=generation_changed)
    def computer_of(self, machine: Machine) -> Iterable[ObjectKey]:
        """Its bootstrap data, its version."""
        return _computer_of(machine)

    @watches(SECRETS, when=lambda change: change.created)
    def waiting_for(self, secret: PartialObjectMetadata) -> Iterable[ObjectKey]:
        """Bootstrap data that come after the machine: whoever made it knew only their name."""
        found = self._machines.lister().by_index(_DATA, secret.name)
        return [key for machine in found if machine.namespace == secret.namespace for key in _computer_of(machine)]

    @watches(Cluster, when=_concerns_computers)
    def computers_of(self, cluster: Cluster) -> Iterable[ObjectKey]:
        """Its infrastructure, its pause."""
        return self._of_cluster(cluster.key)

    def _of_cluster(self, cluster: ObjectKey) -> list[ObjectKey]:
        selector = from_labels({labels.CLUSTER_NAME: cluster.name})
        return [snapshot.key for snapshot in self._store.select(cluster.namespace, selector)]


_KIND = (GROUP, "SimulatedMachine")
_DATA = "bootstrap data"


def _computer_of(machine: Machine) -> list[ObjectKey]:
    ref = machine.spec.infrastructure_ref
    return [ObjectKey(machine.namespace, ref.name)] if (ref.api_group, ref.kind) == _KIND else []


def _data_secret(machine: Machine) -> list[str]:
    name = machine.spec.bootstrap.data_secret_name
    return [name] if name else []


_PHASES: tuple[Phase[Scope], ...] = (boot, hold, run_node)
_DELETION: tuple[Phase[Scope], ...] = (delete_computer,)
