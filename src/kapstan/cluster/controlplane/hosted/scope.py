"""Scope: what one reconcile of a control plane knows. Steps fill it in order; the status is computed from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from kapstan.client import Client
from kapstan.cluster.api.controlplane.hosted import HostedControlPlane
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore, Instance, Layout, Observation, Runtime
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.controlplane.hosted.tenants import Tenants
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.cluster.pki.leaves import Leaves
from kapstan.cluster.skeleton.draft import Draft
from kapstan.machinery.gvk import ObjectKey

__all__ = ("Scope", "Step")


@dataclass(kw_only=True)
class Scope:
    """One control plane, what is wanted of it, and what has been found and done so far."""

    draft: Draft[HostedControlPlane]
    cluster: Cluster
    settings: Settings
    runtime: Runtime
    client: Client
    tenants: Tenants
    now: datetime

    authorities: ClusterAuthorities | None = None
    datastore: Datastore | None = None
    endpoint: Endpoint | None = None
    layout: Layout | None = None
    leaves: Leaves | None = None
    kubeconfig: bool = False
    bootstrapped: bool = False
    addons: bool = False
    # By the condition that tells of it.
    failures: dict[str, Exception] = field(default_factory=dict)

    @property
    def control_plane(self) -> HostedControlPlane:
        return self.draft.obj

    @property
    def cluster_key(self) -> ObjectKey:
        return self.cluster.key

    @property
    def instance(self) -> Instance:
        return Instance(self.control_plane.key, self.settings.id)

    @property
    def observation(self) -> Observation:
        return self.runtime.observe(self.instance)


Step = Callable[[Scope], Awaitable[None]]
