"""cluster.x-k8s.io/v1beta2: clusters and their machines."""

from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.api.core.clusterclass import ClusterClass
from kapstan.cluster.api.core.machine import Machine
from kapstan.cluster.api.core.machinedeployment import MachineDeployment
from kapstan.cluster.api.core.machinedrainrule import MachineDrainRule
from kapstan.cluster.api.core.machinehealthcheck import MachineHealthCheck
from kapstan.cluster.api.core.machinepool import MachinePool
from kapstan.cluster.api.core.machineset import MachineSet

__all__ = (
    "Cluster",
    "ClusterClass",
    "Machine",
    "MachineDeployment",
    "MachineDrainRule",
    "MachineHealthCheck",
    "MachinePool",
    "MachineSet",
)
