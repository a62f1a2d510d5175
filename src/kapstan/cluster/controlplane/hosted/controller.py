"""Keeps a HostedControlPlane as it is wanted: its certificates, its data, its components, the objects in its cluster.

Read downwards: `reconcile`, then the steps in the files of their names, in the order in which they run. None of them
waits: what takes time happens in the runtime, which wakes us when something has changed. Any step may be the last one
before the manager dies; the next manager begins with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from kapstan.cluster.api.controlplane.group import GROUP
from kapstan.cluster.api.controlplane.hosted import HostedControlPlane, HostedControlPlaneStatus, RuntimeType
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.controlplane.hosted.bootstrap import addons_are_early, ensure_addons, ensure_bootstrap
from kapstan.cluster.controlplane.hosted.certificates import ensure_authorities, ensure_leaves
from kapstan.cluster.controlplane.hosted.datastore import ensure_datastore
from kapstan.cluster.controlplane.hosted.deletion import delete_control_plane
from kapstan.cluster.controlplane.hosted.desired import apply_desired
from kapstan.cluster.controlplane.hosted.endpoint import ensure_endpoint, publish_endpoint
from kapstan.cluster.controlplane.hosted.kubeconfig import ensure_kubeconfig
from kapstan.cluster.controlplane.hosted.metrics import HostedMetrics, Milestones
from kapstan.cluster.controlplane.hosted.runtime.interface import Instance, Runtime
from kapstan.cluster.controlplane.hosted.scope import Scope, Step
from kapstan.cluster.controlplane.hosted.settings import settings_of
from kapstan.cluster.controlplane.hosted.status import (
    ConditionType,
    observe_deletion,
    observe_invalid,
    observe_status,
)
from kapstan.cluster.controlplane.hosted.tenants import REPEAT, Tenants
from kapstan.cluster.controlplane.hosted.upgrade import VersionRefused, with_permitted_version
from kapstan.cluster.controlplane.hosted.validation import validate
from kapstan.cluster.pki.secrets import CLUSTER_NAME_LABEL
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.ownstatus import beyond_own_status
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery import conditions
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupVersion, ObjectKey
from kapstan.machinery.owners import add_finalizer, has_finalizer, remove_finalizer
from kapstan.machinery.validation import aggregate
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import Owned, controller, rbac, watches
from kapstan.runtime.metrics import Registry
from kapstan.runtime.predicate import generation_changed, predicate
from kapstan.runtime.reconcile import Outcome, Reconciler, Result, TerminalError
from kapstan.runtime.source import Channel, Source

__all__ = ("FINALIZER", "Clock", "HostedControlPlaneReconciler", "utc_now")

# What certificates are issued and renewed by.
Clock = Callable[[], datetime]

_SOON = 0.05
FINALIZER = "controlplane.cluster.x-k8s.io/hosted"

# Each step, and the condition that tells if it fails; after one that does, the others are not tried.
_STEPS: tuple[tuple[ConditionType, Step], ...] = (
    (ConditionType.CERTIFICATES_AVAILABLE, ensure_authorities),
    (ConditionType.DATASTORE_READY, ensure_datastore),
    (ConditionType.ENDPOINT_READY, ensure_endpoint),
    (ConditionType.CERTIFICATES_AVAILABLE, ensure_leaves),
    (ConditionType.API_SERVER_HEALTHY, apply_desired),
    (ConditionType.KUBECONFIG_AVAILABLE, ensure_kubeconfig),
    (ConditionType.ENDPOINT_READY, publish_endpoint),
    (ConditionType.BOOTSTRAP_CONFIGURED, ensure_bootstrap),
    (ConditionType.ADDONS_READY, ensure_addons),
)


def utc_now() -> datetime:
    return datetime.now(UTC)


@predicate
def _beyond_creation(change: Change) -> bool:
    """Secrets that are changed or gone. None is made for a control plane but by its own reconcile, which knows."""
    return change.old is not None


@controller(
    HostedControlPlane,
    owns=[Owned(Secret, when=_beyond_creation)],
    reads=[Cluster],
    when=beyond_own_status,
    max_concurrent_reconciles=20,
)
@rbac("controlplane.cluster.x-k8s.io", "hostedcontrolplanes", verbs="get;list;watch;patch")
@rbac("controlplane.cluster.x-k8s.io", "hostedcontrolplanes/status", verbs="patch")
@rbac("controlplane.cluster.x-k8s.io", "hostedcontrolplanes/finalizers", verbs="update")
@rbac("cluster.x-k8s.io", "clusters", verbs="get;list;watch")
@rbac("", "secrets", verbs="get;list;watch;create;patch;delete")
class HostedControlPlaneReconciler(Reconciler[HostedControlPlane]):
    """Reconciles HostedControlPlanes."""

    def __init__(
        self,
        runtimes: Mapping[RuntimeType, Runtime],
        metrics: Registry | None = None,
        *,
        clock: Clock = utc_now,
    ) -> None:
        self._runtimes = runtimes
        self._clock = clock
        self._metrics = HostedMetrics(metrics or Registry())
        self._tenants = Tenants()
        self._milestones = Milestones(self._metrics)
        self._wake = Channel()
        for runtime in runtimes.values():
            runtime.subscribe(self._wake.send)

    def sources(self) -> Sequence[Source]:
        """What runs in the background, beyond what is declared."""
        return [self._wake]

    @watches(Cluster, when=generation_changed)
    def control_plane_of(self, cluster: Cluster) -> Iterable[ObjectKey]:
        """A cluster that is paused, goes on or is given a network."""
        ref = cluster.spec.control_plane_ref
        if ref is None or (ref.api_group, ref.kind) != (GROUP, "HostedControlPlane"):
            return []
        return [ObjectKey(cluster.namespace, ref.name)]

    async def reconcile(self, control_plane: HostedControlPlane) -> Outcome:
        cluster = await self._cluster_of(control_plane)
        if cluster is None and not control_plane.deleting:
            return None  # core has not said yet whose it is; it does so by changing the object
        draft = Draft(self.client, control_plane)
        if await is_paused(draft, cluster):
            return None
        if control_plane.deleting or cluster is None:
            await self._delete(draft, cluster)
            return None
        return await self._keep(draft, cluster)

    async def _keep(self, draft: Draft[HostedControlPlane], cluster: Cluster) -> Outcome:
        plane = draft.obj
        if errors := validate(plane):
            observe_invalid(plane, aggregate(errors))
            await draft.save_status()
            raise TerminalError(aggregate(errors))
        # Nothing is done for a control plane that could vanish before it is undone.
        add_finalizer(plane, FINALIZER)
        await draft.save()
        before = convert(to_builtins(plane.status), HostedControlPlaneStatus)
        self._milestones.begin(plane)
        scope = self._scope(draft, cluster)
        await self._take_steps(scope)
        observe_status(scope)
        self._tell(scope, before)
        await draft.save_status(own=True)
        for failure in scope.failures.values():
            if not isinstance(failure, VersionRefused):  # trying again would not change it
                raise failure
        return Result(requeue_after=_next_look(scope))

    async def _take_steps(self, scope: Scope) -> None:
        for condition, step in _STEPS:
            try:
                with self._metrics.step(step.__name__):
                    await step(scope)
            except Exception as error:  # noqa: BLE001 - raised when the status is written
                scope.failures[condition] = error
                return

    def _scope(self, draft: Draft[HostedControlPlane], cluster: Cluster) -> Scope:
        plane, now = draft.obj, self._clock()
        settings, refused = with_permitted_version(settings_of(plane, cluster, now=now), plane.status)
        return Scope(
            draft=draft,
            cluster=cluster,
            settings=settings,
            runtime=self._runtime(settings.runtime),
            client=self.client,
            tenants=self._tenants,
            now=now,
            failures={ConditionType.ROLLING_OUT: refused} if refused else {},
        )

    def _runtime(self, type: RuntimeType) -> Runtime:
        try:
            return self._runtimes[type]
        except KeyError:
            have = ", ".join(self._runtimes) or "none"
            raise TerminalError(f"this manager has no runtime {type} (it has {have}): start it with one") from None

    async def _cluster_of(self, plane: HostedControlPlane) -> Cluster | None:
        """The cluster that owns the control plane, or that its label names."""
        for owner in plane.metadata.owner_references:
            if (GroupVersion.parse(owner.api_version).group, owner.kind) == (Cluster.__resource__.group, "Cluster"):
                return await self.client.find(Cluster, owner.name, plane.namespace)
        name = plane.metadata.labels.get(CLUSTER_NAME_LABEL)
        return await self.client.find(Cluster, name, plane.namespace) if name else None

    async def _delete(self, draft: Draft[HostedControlPlane], cluster: Cluster | None) -> None:
        plane = draft.obj
        if not has_finalizer(plane, FINALIZER):
            return
        instance = instance_of(plane)
        runtime = self._runtimes.get(plane.spec.runtime.type if plane.spec.runtime else "Process")
        try:
            await delete_control_plane(self.live, plane, _cluster_key(plane, cluster), runtime, self._tenants, instance)
        except KapstanError as error:
            observe_deletion(plane, error)
            await draft.save_status()
            raise
        self._metrics.forget(plane.key)
        self._milestones.forget(plane.uid)
        remove_finalizer(plane, FINALIZER)
        await draft.save()

    def _tell(self, scope: Scope, before: HostedControlPlaneStatus) -> None:
        """Say what is worth an event or a metric."""
        plane, seen = scope.control_plane, scope.observation
        self._metrics.observe(scope)
        self._milestones.observe(scope)
        if plane.status.initialization and not before.initialization:
            self.events.normal(plane, "Initialized", f"The API server is ready at {scope.endpoint}")
        known = conditions.find(before.conditions, ConditionType.ROLLING_OUT)
        if seen.refused and (known is None or known.reason != "RolledBack"):
            self.events.warning(plane, "RolledBack", seen.refused.message)
        for name, reason in (scope.leaves.renewed if scope.leaves else {}).items():
            if before.initialization:
                self.events.normal(plane, "CertificateRenewed", f"{name}: {reason}")


def instance_of(plane: HostedControlPlane) -> Instance:
    """Which control plane it is to its runtime."""
    datastore = plane.spec.datastore
    return Instance(plane.key, (datastore.prefix if datastore else None) or plane.uid)


def _cluster_key(plane: HostedControlPlane, cluster: Cluster | None) -> ObjectKey | None:
    """The cluster may be gone already; its name is what the Secrets are named by."""
    name = cluster.name if cluster else plane.metadata.labels.get(CLUSTER_NAME_LABEL)
    return ObjectKey(plane.namespace, name) if name else None


def _next_look(scope: Scope) -> float:
    """Seconds until something is due: add-ons, a renewal, a restart, or just another look at what is in the cluster."""
    if not scope.addons and not addons_are_early(scope):
        return _SOON
    due = [REPEAT]
    if scope.leaves is not None:
        due.append((scope.leaves.next_renewal - scope.now).total_seconds())
    rollout = scope.control_plane.spec.rollout
    if rollout is not None and rollout.after is not None and rollout.after > scope.now:
        due.append((rollout.after - scope.now).total_seconds())
    return max(1.0, min(due))
