"""Finds machines that are not well, says so on them, and has them replaced as long as not too many are.

Nothing is polled: machines, nodes, clusters, connections and remediation requests wake the check, and the moment at
which the next machine will have been unwell for too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct, field

from kapstan.cluster.api.core import Cluster, Machine, MachineHealthCheck
from kapstan.cluster.core.external import DEFINITIONS
from kapstan.cluster.core.machinehealthcheck.examination import examine
from kapstan.cluster.core.machinehealthcheck.remediation import remediate
from kapstan.cluster.core.machinehealthcheck.requests import Requests
from kapstan.cluster.core.machinehealthcheck.scope import Scope
from kapstan.cluster.core.machinehealthcheck.status import observe
from kapstan.cluster.core.selection import selects
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.sources import ConnectionSource, NodeSource
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, get
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.cluster.skeleton.phases import Phase, run_phases
from kapstan.cluster.skeleton.sources import Patient
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.owners import set_owner
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, rbac, watches
from kapstan.runtime.reconcile import Outcome, Reconciler
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Source

__all__ = ("MachineHealthCheckReconciler",)

# All machines of a check are looked at together, and while they come up each of them changes often.
_PATIENCE = 0.5
_BY_CLUSTER = "cluster"


def _concerns_checks(change: Change) -> bool:
    """Whether a change of a cluster is one that its checks have to know of; its counters are not."""
    if change.old is None or change.new is None:
        return True
    return _said_to_checks(change.old.decode(Cluster)) != _said_to_checks(change.new.decode(Cluster))


def _said_to_checks(cluster: Cluster) -> object:
    told = [
        get(cluster, type) for type in (ConditionType.CONTROL_PLANE_INITIALIZED, ConditionType.INFRASTRUCTURE_READY)
    ]
    return cluster.spec.paused, [(one.status, one.last_transition_time) for one in told if one is not None]


@controller(MachineHealthCheck, reads=[DEFINITIONS, Cluster, Machine], max_concurrent_reconciles=20)
@rbac(
    "cluster.x-k8s.io",
    "machinehealthchecks;machinehealthchecks/status;machinehealthchecks/finalizers",
    verbs="get;list;watch;patch;update",
)
@rbac("cluster.x-k8s.io", "machines;machines/status", verbs="get;list;watch;patch;update")
@rbac("cluster.x-k8s.io", "clusters", verbs="get;list;watch")
class MachineHealthCheckReconciler(Reconciler[MachineHealthCheck]):
    """Reconciles MachineHealthChecks."""

    def __init__(self, client: CachedClient, clusters: ClusterCache) -> None:
        self._clusters = clusters
        factory = client.cache.factory
        self._machines = factory.shared(Machine)
        self._checks = factory.shared(MachineHealthCheck).store
        self._checks.add_index(_BY_CLUSTER, _cluster_of)
        self._requests = Requests(client, self._checks_of_machine)

    async def reconcile(self, check: MachineHealthCheck) -> Outcome:
        cluster = await self.client.find(Cluster, check.spec.cluster_name, check.namespace)
        if cluster is None:
            self.log.info("Cluster %s does not exist (yet): %s waits", check.spec.cluster_name, check.key)
            return None
        if check.deleting:
            return None
        draft = Draft(self.client, check)
        if await is_paused(draft, cluster):
            return None
        scope = Scope(
            draft=draft,
            cluster=cluster,
            client=self.client,
            clusters=self._clusters,
            requests=self._requests,
            events=self.events,
        )
        return await run_phases(scope, _PHASES, observe)

    # --- What wakes a check -----------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """Machines, their nodes, the connection to the workload cluster, and remediation requests."""
        machines = Patient(self._machines, Machine, self._checks_of_change, patience=_PATIENCE)
        nodes = NodeSource(
            self._clusters,
            lambda cluster, node: self._checks_of(cluster),
            when=_conditions_changed,
            patience=_PATIENCE,
        )
        connections = ConnectionSource(self._clusters, self._checks_of)
        return [machines, nodes, connections, self._requests]

    @watches(Cluster, when=_concerns_checks)
    def checks_of_cluster(self, cluster: Cluster) -> Iterable[ObjectKey]:
        return self._checks_of(cluster.key)

    def _checks_of(self, cluster: ObjectKey) -> list[ObjectKey]:
        return [snapshot.key for snapshot in self._checks.by_index(_BY_CLUSTER, str(cluster))]

    def _checks_of_change(self, change: Change) -> Iterable[ObjectKey]:
        """The checks that look at a machine, or looked at it before it changed."""
        old, new = change.old, change.new
        if old is not None and new is not None and _peek(old.data) == _peek(new.data) and old.labels == new.labels:
            return set()
        return {key for state in change.states for key in self._checks_of_state(state)}

    def _checks_of_machine(self, machine: ObjectKey) -> Iterable[ObjectKey]:
        state = self._machines.store.get(machine)
        return self._checks_of_state(state) if state is not None else ()

    def _checks_of_state(self, machine: Snapshot) -> Iterable[ObjectKey]:
        name = machine.labels.get(labels.CLUSTER_NAME, "")
        for snapshot in self._checks.by_index(_BY_CLUSTER, str(ObjectKey(machine.namespace, name))):
            if selects(snapshot.decode(MachineHealthCheck).spec.selector, machine.labels):
                yield snapshot.key


async def _adopt(scope: Scope) -> Outcome:
    """A check goes with its cluster."""
    check = scope.check
    check.metadata.labels[labels.CLUSTER_NAME] = check.spec.cluster_name
    set_owner(scope.cluster, check)
    return None


_PHASES: tuple[Phase[Scope], ...] = (_adopt, examine, remediate)


def _cluster_of(snapshot: Snapshot) -> Iterable[str]:
    check: MachineHealthCheck = snapshot.decode(MachineHealthCheck)
    yield str(ObjectKey(check.namespace, check.spec.cluster_name))


# --- What of a machine, and of a node, matters ------------------------------------------------------------------------


class _Metadata(Struct, rename="camel"):
    annotations: Raw = Raw(b"")
    deletion_timestamp: str = ""


class _Status(Struct, rename="camel"):
    conditions: Raw = Raw(b"")
    node_ref: Raw = Raw(b"")


class _Peek(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    status: _Status = field(default_factory=_Status)


_decode_peek = msgspec.json.Decoder(_Peek).decode


def _peek(data: bytes) -> tuple[bytes, ...]:
    seen = _decode_peek(data)
    parts = (seen.metadata.annotations, seen.status.conditions, seen.status.node_ref)
    return (*map(bytes, parts), seen.metadata.deletion_timestamp.encode())


def _conditions_changed(old: Snapshot | None, new: Snapshot | None) -> bool:
    """Heartbeats are no change."""
    if old is None or new is None:
        return True
    return _conditions_of(old) != _conditions_of(new)


def _conditions_of(node: Snapshot) -> object:
    found: Node = node.decode(Node)
    return [(one.type, one.status, one.reason, one.last_transition_time) for one in found.status.conditions]
