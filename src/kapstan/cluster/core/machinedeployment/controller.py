"""Replaces machines step by step when what is wanted of them changes: old sets shrink while a new one grows.

Read downwards: `reconcile_held`, then the phases in the files of their names, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.clusterindex import ClusterIndex
from kapstan.cluster.core.external import DEFINITIONS, Providers
from kapstan.cluster.core.machinedeployment.deletion import delete_deployment
from kapstan.cluster.core.machinedeployment.plan import has_heard
from kapstan.cluster.core.machinedeployment.rolling import reconcile_rollout
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machinedeployment.sets import reconcile_sets
from kapstan.cluster.core.machinedeployment.status import observe
from kapstan.cluster.core.machinesource import MachineSource
from kapstan.cluster.core.selection import selects
from kapstan.cluster.core.templates import find_templates, references_of
from kapstan.cluster.core.webhooks.machinedeployment import default_machine_deployment, deployment_errors
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

__all__ = ("MachineDeploymentReconciler",)


def _is_paused_now(change: Change) -> bool:
    if change.old is None or change.new is None:
        return True
    old, new = change.old.decode(Cluster), change.new.decode(Cluster)
    return bool(old.spec.paused != new.spec.paused)


def _has_heard_now(change: Change) -> bool:
    """Whether a set has now heard of its size, or has begun to go."""
    if change.old is None or change.new is None:
        return True
    return change.old.deleting != change.new.deleting or (
        has_heard(change.new.decode(MachineSet)) and not has_heard(change.old.decode(MachineSet))
    )


@controller(
    MachineDeployment,
    reads=[DEFINITIONS, Cluster, Machine, MachineSet],
    when=generation_changed | label_changed | annotation_changed,  # its status is its own
    max_concurrent_reconciles=50,
    rest=1,
)
@rbac(
    "cluster.x-k8s.io",
    "machinedeployments;machinedeployments/status;machinedeployments/finalizers",
    verbs="get;list;watch;patch;update",
)
@rbac("cluster.x-k8s.io", "machinesets", verbs="get;list;watch;create;patch;update;delete")
@rbac("cluster.x-k8s.io", "machines", verbs="get;list;watch")
@rbac("infrastructure.cluster.x-k8s.io;bootstrap.cluster.x-k8s.io", "*", verbs="get;list;watch;patch;update")
class MachineDeploymentReconciler(WorkersReconciler[MachineDeployment]):
    """Reconciles MachineDeployments."""

    finalizer = labels.MACHINE_DEPLOYMENT_FINALIZER

    def __init__(self, client: CachedClient) -> None:
        self._providers = Providers(client, MachineDeployment, lambda found: references_of(found.spec.template))
        self._informers = client.cache.factory
        self._index = ClusterIndex(self._informers.shared(MachineDeployment))
        self._kept: dict[str, frozenset[str]] = {}

    def prepare(self, workers: MachineDeployment, cluster: Cluster) -> None:
        default_machine_deployment(workers)
        set_owner(cluster, workers)
        workers.metadata.annotations.setdefault(labels.REVISION, "1")

    def errors(self, workers: MachineDeployment) -> Iterable[FieldError]:
        return deployment_errors(workers, None)

    async def reconcile_held(self, draft: Draft[MachineDeployment], cluster: Cluster) -> Outcome:
        scope = Scope(
            draft=draft,
            cluster=cluster,
            client=self.client,
            providers=self._providers,
            events=self.events,
            kept=self._kept,
        )
        return await run_phases(scope, _DELETION if draft.obj.deleting else _PHASES, observe)

    # --- What wakes a deployment ------------------------------------------------------------------------------------

    def sources(self) -> Sequence[Source]:
        """Providers' templates, and machines."""
        return [self._providers, MachineSource(self._informers.shared(Machine), _deployment_of, hurry=False)]

    @watches(MachineSet, when=generation_changed | label_changed | annotation_changed | _has_heard_now)
    def deployments_of(self, machine_set: MachineSet) -> Iterable[ObjectKey]:
        """The one that controls a set; or those that could adopt it."""
        owner = machine_set.controller_ref()
        if owner is not None:
            return [ObjectKey(machine_set.namespace, owner.name)] if owner.kind == "MachineDeployment" else []
        found = self._informers.shared(MachineDeployment).store.select(machine_set.namespace)
        wanted = machine_set.metadata.labels
        return [one.key for one in found if selects(one.decode(MachineDeployment).spec.selector, wanted)]

    @watches(Cluster, when=_is_paused_now)
    def deployments_of_cluster(self, cluster: Cluster) -> Iterable[ObjectKey]:
        return self._index.of(cluster.key)


def _deployment_of(change: Change) -> Iterable[ObjectKey]:
    return [
        ObjectKey(state.namespace, state.labels[labels.DEPLOYMENT_NAME])
        for state in change.states
        if labels.DEPLOYMENT_NAME in state.labels
    ]


async def _reconcile_templates(scope: Scope) -> Outcome:
    await find_templates(scope.client, scope.providers, scope.templates, scope.cluster)
    return None


_PHASES: tuple[Phase[Scope], ...] = (_reconcile_templates, reconcile_sets, reconcile_rollout)
_DELETION: tuple[Phase[Scope], ...] = (reconcile_sets, delete_deployment)
