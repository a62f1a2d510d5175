"""Simulated clusters: workload controllers, a scheduler and nodes that need no computers, on any API server."""

from kapstan.simulation.kubelets.kubelets import Kubelets
from kapstan.simulation.kubelets.settings import Failure, NodeSpec, Timing
from kapstan.simulation.simulation import Simulation
from kapstan.simulation.workloads import Workloads, add_workloads

__all__ = ("Failure", "Kubelets", "NodeSpec", "Simulation", "Timing", "Workloads", "add_workloads")
