"""What one reconcile of a Machine knows and works with."""

from __future__ import annotations

from dataclasses import dataclass

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.core.machine import MachineDeletionStatus, MachineInitialization
from kapstan.cluster.contract.objects import BootstrapConfig, InfraMachine
from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.external import Providers, Referenced
from kapstan.cluster.core.machine.departures import Departures
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.k8s.core_v1 import Node
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.recorder import EventRecorder

__all__ = ("Scope",)


@dataclass(kw_only=True)
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[Machine]
    cluster: Cluster
    client: CachedClient
    providers: Providers[Machine]
    clusters: ClusterCache
    departures: Departures
    events: EventRecorder
    machine_set: MachineSet | None = None
    machine_deployment: MachineDeployment | None = None

    bootstrap: Referenced[BootstrapConfig] | None = None
    infrastructure: Referenced[InfraMachine] | None = None
    node: Node | None = None
    node_error: Exception | None = None  # why it is not known whether there is a node
    stage: Stage | None = None  # of a deletion

    @property
    def machine(self) -> Machine:
        return self.draft.obj

    @property
    def is_control_plane(self) -> bool:
        return labels.CONTROL_PLANE in self.machine.metadata.labels

    @property
    def initialization(self) -> MachineInitialization:
        """What has been done once and for all; an empty one is not part of the object."""
        return self.machine.status.initialization or MachineInitialization()

    def initialized(self, *, infrastructure: bool | None = None, bootstrap: bool | None = None) -> None:
        """Note what has been done once and for all."""
        known = self.initialization
        self.machine.status.initialization = MachineInitialization(
            infrastructure_provisioned=infrastructure or known.infrastructure_provisioned,
            bootstrap_data_secret_created=bootstrap or known.bootstrap_data_secret_created,
        )

    @property
    def deletion(self) -> MachineDeletionStatus:
        """When the steps of the deletion began."""
        if self.machine.status.deletion is None:
            self.machine.status.deletion = MachineDeletionStatus()
        return self.machine.status.deletion
