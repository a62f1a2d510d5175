"""What one reconcile of a Cluster knows and works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapstan.cluster.api.core.cluster import APIEndpoint, Cluster, ClusterInitialization
from kapstan.cluster.api.core.clusterclass import ClusterClass
from kapstan.cluster.contract.objects import ControlPlane, InfraCluster
from kapstan.cluster.core.cluster.descendants import Descendants
from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.external import Providers, Referenced
from kapstan.cluster.remote.health import Health
from kapstan.cluster.skeleton.draft import Draft
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.recorder import EventRecorder

__all__ = ("Scope",)


@dataclass(kw_only=True)
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[Cluster]
    client: CachedClient
    providers: Providers[Cluster]
    events: EventRecorder
    health: Health = field(default_factory=Health)
    cluster_class: ClusterClass | None = None

    infrastructure: Referenced[InfraCluster] | None = None
    control_plane: Referenced[ControlPlane] | None = None
    descendants: Descendants | None = None  # None: they could not be listed
    stage: Stage | None = None  # of a deletion

    @property
    def cluster(self) -> Cluster:
        return self.draft.obj

    @property
    def initialization(self) -> ClusterInitialization:
        """What has been done once and for all; an empty one is not part of the object."""
        return self.cluster.status.initialization or ClusterInitialization()

    def initialized(self, *, infrastructure: bool | None = None, control_plane: bool | None = None) -> None:
        """Note what has been done once and for all."""
        known = self.initialization
        self.cluster.status.initialization = ClusterInitialization(
            infrastructure_provisioned=infrastructure or known.infrastructure_provisioned,
            control_plane_initialized=control_plane or known.control_plane_initialized,
        )

    @property
    def endpoint(self) -> APIEndpoint | None:
        """Where the API server is, if that is known completely."""
        endpoint = self.cluster.spec.control_plane_endpoint
        return endpoint if endpoint is not None and endpoint.host and endpoint.port else None
