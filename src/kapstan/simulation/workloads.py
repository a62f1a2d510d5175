"""Workloads: small simulations of kube-controller-manager and kube-scheduler, on any API server.

Each is an ordinary reconciler. `Workloads` runs them on one cluster, cheaply enough for hundreds of clusters in one
process: they share the cluster's watches, and nothing happens while nothing changes. Garbage collection, namespaces,
service accounts and disruption budgets are not here: the embedded API server looks after those itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from kapstan.runtime.builder import build
from kapstan.runtime.cluster import Cluster
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import ControllerDeclaration
from kapstan.runtime.manager import Manager
from kapstan.runtime.reconcile import Reconciler
from kapstan.simulation.daemonset.controller import DaemonSetReconciler
from kapstan.simulation.deployment.controller import DeploymentReconciler
from kapstan.simulation.endpoints.controller import EndpointsReconciler
from kapstan.simulation.nodes.eviction import PodCollector, TaintEvictionReconciler
from kapstan.simulation.nodes.lifecycle import GRACE, NodeLifecycleReconciler
from kapstan.simulation.replicaset.controller import ReplicaSetReconciler
from kapstan.simulation.scheduling.controller import Scheduler

__all__ = ("Workloads", "add_workloads")

_PATIENCE = 10 * 365 * 86_400.0  # an API server that is away is no reason to give up


def _reconcilers(node_grace: float = GRACE) -> list[Reconciler[Any]]:
    return [
        DeploymentReconciler(),
        ReplicaSetReconciler(),
        DaemonSetReconciler(),
        EndpointsReconciler(),
        NodeLifecycleReconciler(node_grace),
        TaintEvictionReconciler(),
        PodCollector(),
        Scheduler(),
    ]


def add_workloads(manager: Manager) -> None:
    """Run them in a manager, on the manager's own cluster."""
    for reconciler in _reconcilers():
        manager.add_controller(reconciler)


class Workloads:
    """Runs them on one cluster, which somebody else runs."""

    def __init__(self, cluster: Cluster, *, node_grace: float = GRACE) -> None:
        """`node_grace` is how many seconds without a sign of life a node has before it is unknown."""
        self._controllers = [_controller(cluster, reconciler) for reconciler in _reconcilers(node_grace)]

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for controller in self._controllers:
                group.create_task(controller.run(), name=controller.name)


def _controller(cluster: Cluster, reconciler: Reconciler[Any]) -> Controller:
    declared = type(reconciler).__controller__
    assert declared is not None
    options = msgspec.structs.replace(declared.options, cache_sync_timeout=_PATIENCE)
    declaration: ControllerDeclaration = msgspec.structs.replace(declared, options=options)
    return build(cluster, reconciler, declaration)
