"""infrastructure.cluster.x-k8s.io/v1beta2: what clusters and machines are made of."""

from kapstan.cluster.api.infrastructure.simulatedcluster import SimulatedCluster
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachine
from kapstan.cluster.api.infrastructure.simulatedtemplates import SimulatedClusterTemplate, SimulatedMachineTemplate

__all__ = ("SimulatedCluster", "SimulatedClusterTemplate", "SimulatedMachine", "SimulatedMachineTemplate")
