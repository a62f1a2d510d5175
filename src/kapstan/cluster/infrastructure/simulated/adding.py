"""Adding simulated infrastructure to a manager.

manager = Manager(config, ManagerOptions(scopes=SCOPES))
clusters = add_controllers(manager)  # core's; beside another core: leave it out
add_simulated_infrastructure(manager, clusters)
"""

from __future__ import annotations

from kapstan.cluster.infrastructure.simulated.cluster import SimulatedClusterReconciler
from kapstan.cluster.infrastructure.simulated.computers import Computers
from kapstan.cluster.infrastructure.simulated.machine.controller import SimulatedMachineReconciler
from kapstan.cluster.infrastructure.simulated.template import SimulatedMachineTemplateReconciler
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.skeleton.adding import add_controller
from kapstan.runtime.manager import Manager

__all__ = ("add_simulated_infrastructure",)


def add_simulated_infrastructure(manager: Manager, clusters: ClusterCache | None = None) -> None:
    """Have a manager run simulated infrastructure, with the connections to workload clusters that others use as well,
    or with its own."""
    if clusters is None:
        clusters = ClusterCache(manager.client, metrics=manager.metrics)
        manager.add(clusters)
    computers = Computers(clusters)
    manager.add(computers)
    add_controller(manager, SimulatedClusterReconciler())
    add_controller(manager, SimulatedMachineReconciler(manager.client, clusters, computers))
    add_controller(manager, SimulatedMachineTemplateReconciler())
