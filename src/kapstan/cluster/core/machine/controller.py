"""Brings a Machine from its references to a running node, keeps the two in step, and takes it down in order.

Read downwards: `reconcile`, then the phases in the files of their names, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineDrainRule, MachineSet
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.api.core.group import GROUP
from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.core.external import DEFINITIONS, Providers
from kapstan.cluster.core.machine.bootstrap import reconcile_bootstrap
from kapstan.cluster.core.machine.certificates import reconcile_certificate_expiry
from kapstan.cluster.core.machine.deletion import delete_machine
from kapstan.cluster.core.machine.departures import Departures
from kapstan.cluster.core.machine.index import MachineIndex
from kapstan.cluster.core.machine.infrastructure import reconcile_infrastructure
from kapstan.cluster.core.machine.node import reconcile_node
from kapstan.cluster.core.machine.nodestatus import CONNECTION_GRACE
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.core.machine.status import observe
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.sources import ConnectionSource, NodeSource
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, true_on
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.ownstatus import beyond_own_status
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.machinery.gvk import GroupVersion, ObjectKey
from kapstan.machinery.owners import add_finalizer, has_finalizer, set_owner
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.predicate import annotation_changed, generation_changed
from kapstan.runtime.reconcile import Outcome, Reconciler, Result
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Source

__all__ = ("MachineReconciler", "references")

# How long to wait for what a new machine refers to before it is said to be missing; when it comes, we are woken.
_BEING_MADE = 0.5  # seconds


def references(machine: Machine) -> Iterable[ContractReference]:
    """The providers' objects that a machine refers to."""
    bootstrap = machine.spec.bootstrap.config_ref
    return [machine.spec.infrastructure_ref, *([bootstrap] if bootstrap is not None else [])]


def _concerns_machines(change: Change) -> bool:
    """Whether a change of a cluster is one that its machines have to know of; its counters are not."""
    if change.old is None or change.new is None:
        return True
    return _said_to_machines(change.old.decode(Cluster)) != _said_to_machines(change.new.decode(Cluster))


def _said_to_machines(cluster: Cluster) -> object:
    initialized = true_on(cluster, ConditionType.CONTROL_PLANE_INITIALIZED)
    spec = cluster.spec
    return spec.paused, cluster.deleting, spec.control_plane_ref, cluster.status.initialization, initialized


@controller(
    Machine,
    reads=[DEFINITIONS, Cluster, MachineSet, MachineDeployment, MachineDrainRule],
    when=beyond_own_status,
    max_concurrent_reconciles=100,
)
@rbac("cluster.x-k8s.io", "machines;machines/status;machines/finalizers", verbs="get;list;watch;patch;update")
@rbac("cluster.x-k8s.io", "machinedrainrules", verbs="get;list;watch")
@rbac(
    "infrastructure.cluster.x-k8s.io;bootstrap.cluster.x-k8s.io;controlplane.cluster.x-k8s.io",
    "*",
    verbs="get;list;watch;create;update;patch;delete",
)
class MachineReconciler(Reconciler[Machine]):
    """Reconciles Machines."""

    def __init__(self, client: CachedClient, clusters: ClusterCache) -> None:
        self._clusters = clusters
        self._providers = Providers(client, Machine, references)
        machines = client.cache.factory.shared(Machine)
        self._index = MachineIndex(machines)
        self._departures = Departures()
        machines.listen(self._changed)

    async def reconcile(self, machine: Machine) -> Outcome:
        cluster = await self.client.find(Cluster, machine.spec.cluster_name, machine.namespace)
        if cluster is None:
            self.log.info("Cluster %s does not exist (yet): Machine %s waits", machine.spec.cluster_name, machine.key)
            return None
        draft = Draft(self.client, machine)
        if not await self._is_held(draft, cluster):
            return None
        if await self._is_being_made(machine):
            return Result(requeue_after=_BEING_MADE)
        if await is_paused(draft, cluster):
            return None
        machine_set = await self._set_of(machine)
        scope = Scope(
            draft=draft,
            cluster=cluster,
            client=self.client,
            providers=self._providers,
            clusters=self._clusters,
            departures=self._departures,
            events=self.events,
            machine_set=machine_set,
            machine_deployment=await self._deployment_of(machine_set),
        )
        return await run_phases(scope, _DELETION if machine.deleting else _PHASES, observe)

    async def _is_held(self, draft: Draft[Machine], cluster: Cluster) -> bool:
        """Nothing is done for a machine that could vanish before it is undone. It gets its label and its owner, too."""
        machine = draft.obj
        if machine.deleting:
            return has_finalizer(machine, labels.MACHINE_FINALIZER)
        add_finalizer(machine, labels.MACHINE_FINALIZER)
        machine.metadata.labels[labels.CLUSTER_NAME] = machine.spec.cluster_name
        if _is_standalone(machine):
            set_owner(cluster, machine)
        await draft.save()
        return True

    async def _is_being_made(self, machine: Machine) -> bool:
        """Whether a machine is so new that whoever makes it is still at it: nothing need be said of it yet."""
        created = machine.metadata.creation_timestamp
        if machine.status.conditions or machine.deleting or machine.controller_ref() is None or created is None:
            return False
        if abs(datetime.now(UTC) - created) > timedelta(seconds=2):  # clocks may differ
            return False
        found = [await self._providers.find(ProviderObject, ref, machine.namespace) for ref in references(machine)]
        return any(part is None for part in found)

    async def _set_of(self, machine: Machine) -> MachineSet | None:
        for ref in machine.metadata.owner_references:
            if ref.kind == "MachineSet" and GroupVersion.parse(ref.api_version).group == GROUP:
                return await self.client.find(MachineSet, ref.name, machine.namespace)
        return None

    async def _deployment_of(self, machine_set: MachineSet | None) -> MachineDeployment | None:
        name = machine_set.metadata.labels.get(labels.DEPLOYMENT_NAME) if machine_set is not None else None
        return await self.client.find(MachineDeployment, name, machine_set.namespace) if machine_set and name else None

    def _changed(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is None and old is not None:
            self._departures.forget(old.key)

    # --- What wakes a machine ---------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """Providers' objects, the connection to the workload cluster, nodes, and what deletions wait for."""
        connections = ConnectionSource(self._clusters, self._index.of_cluster, grace=CONNECTION_GRACE)
        nodes = NodeSource(self._clusters, self._index.of_node)
        return [self._providers, connections, nodes, self._departures.channel]

    @watches(Cluster, when=_concerns_machines)
    def machines_of_cluster(self, cluster: Cluster) -> Iterable[ObjectKey]:
        return self._index.of_cluster(cluster.key)

    @watches(MachineSet, when=generation_changed | annotation_changed)
    def machines_of_set(self, machine_set: MachineSet) -> Iterable[ObjectKey]:
        return self._index.of_set(machine_set.uid)

    @watches(MachineDeployment, when=generation_changed | annotation_changed)
    def machines_of_deployment(self, deployment: MachineDeployment) -> Iterable[ObjectKey]:
        return self._index.of_deployment(deployment.key)

    @watches(MachineDrainRule)
    def machines_of_rule(self, rule: MachineDrainRule) -> Iterable[ObjectKey]:
        return self._index.going(rule.namespace)


def _is_standalone(machine: Machine) -> bool:
    """Whether nobody made the machine but its user. Its maker may only not have adopted it again yet."""
    made = (labels.SET_NAME, labels.POOL_NAME, labels.CONTROL_PLANE_NAME)
    owned = any(ref.kind == "Cluster" for ref in machine.metadata.owner_references)
    return not owned and machine.controller_ref() is None and not any(name in machine.metadata.labels for name in made)


_ALWAYS: tuple[Phase[Scope], ...] = (
    reconcile_bootstrap,
    reconcile_infrastructure,
    reconcile_node,
    reconcile_certificate_expiry,
)
_PHASES: tuple[Phase[Scope], ...] = _ALWAYS
_DELETION: tuple[Phase[Scope], ...] = (*_ALWAYS, delete_machine)
