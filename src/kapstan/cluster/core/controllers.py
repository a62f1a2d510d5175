"""Core's controllers, put together: `add_controllers(manager)` makes a manager run them.

manager = Manager(config, ManagerOptions(scopes=SCOPES))
add_controllers(manager)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.client.interface import Kind
from kapstan.cluster.core.cluster.controller import ClusterReconciler
from kapstan.cluster.core.machine.controller import MachineReconciler
from kapstan.cluster.core.machinedeployment.controller import MachineDeploymentReconciler
from kapstan.cluster.core.machinehealthcheck.controller import MachineHealthCheckReconciler
from kapstan.cluster.core.machineset.controller import MachineSetReconciler
from kapstan.cluster.core.webhooks import WEBHOOKS
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.connection import ClientOptions
from kapstan.cluster.remote.health import ProbeOptions
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.adding import add_controller
from kapstan.k8s.core_v1 import Secret
from kapstan.runtime.manager import Manager
from kapstan.runtime.scope import Scope

__all__ = ("SCOPES", "add_controllers")

# What a manager of Cluster API caches of kinds that are not only ours: Secrets of clusters.
SCOPES: Mapping[Kind[Any], Scope] = {Secret: Scope(labels=labels.CLUSTER_NAME)}


def add_controllers(
    manager: Manager,
    *,
    client: ClientOptions | None = None,
    probe: ProbeOptions | None = None,
    webhooks: bool = False,
) -> ClusterCache:
    """Have a manager run core's controllers; the connections to workload clusters that they share are returned.

    Webhooks refuse at once what the controllers could only complain about. Defaults are filled in without them, too.
    """
    clusters = ClusterCache(manager.client, client=client, probe=probe, metrics=manager.metrics)
    manager.add(clusters)
    add_controller(manager, ClusterReconciler(manager.client, clusters))
    add_controller(manager, MachineReconciler(manager.client, clusters))
    add_controller(manager, MachineHealthCheckReconciler(manager.client, clusters))
    add_controller(manager, MachineSetReconciler(manager.client))
    add_controller(manager, MachineDeploymentReconciler(manager.client))
    if webhooks:
        manager.add(*WEBHOOKS)
    return clusters
