"""Core's controllers, put together: `add_controllers(manager)` makes a manager run them.

manager = Manager(config, ManagerOptions(scopes=SCOPES))
add_controllers(manager)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from kapstan.client.interface import Kind
from kapstan.cluster.core import labels
from kapstan.cluster.core.cluster.controller import ClusterReconciler
from kapstan.cluster.core.machine.controller import MachineReconciler
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.connection import ClientOptions
from kapstan.cluster.remote.health import ProbeOptions
from kapstan.k8s.core_v1 import Secret
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerDeclaration
from kapstan.runtime.manager import Manager
from kapstan.runtime.scope import Scope
from kapstan.runtime.source import Source

__all__ = ("SCOPES", "add_controller", "add_controllers")

# What a manager of Cluster API caches of kinds that are not only ours: Secrets of clusters.
SCOPES: Mapping[Kind[Any], Scope] = {Secret: Scope(labels=labels.CLUSTER_NAME)}


class _Sourced(Protocol):
    """A reconciler with sources of its own."""

    def sources(self) -> Sequence[Source]: ...


def add_controller(manager: Manager, reconciler: Any) -> Controller:
    """Add a reconciler with the sources that it names itself."""
    sourced: _Sourced = reconciler
    declaration: ControllerDeclaration = type(reconciler).__controller__
    sources = (*declaration.sources, *sourced.sources())
    return manager.add_controller(reconciler, replace(declaration, sources=sources))


def add_controllers(
    manager: Manager, *, client: ClientOptions | None = None, probe: ProbeOptions | None = None
) -> ClusterCache:
    """Have a manager run core's controllers; the connections to workload clusters that they share are returned."""
    clusters = ClusterCache(manager.client, client=client, probe=probe, metrics=manager.metrics)
    manager.add(clusters)
    add_controller(manager, ClusterReconciler(manager.client, clusters))
    add_controller(manager, MachineReconciler(manager.client, clusters))
    return clusters
