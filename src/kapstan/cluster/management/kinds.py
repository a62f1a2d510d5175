"""The kinds of the product, and the webhooks that look after them."""

from __future__ import annotations

from typing import Any

from kapstan.cluster.api.clusterctl import Provider
from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.api.core import (
    Cluster,
    ClusterClass,
    Machine,
    MachineDeployment,
    MachineDrainRule,
    MachineHealthCheck,
    MachinePool,
    MachineSet,
)
from kapstan.cluster.api.infrastructure import (
    SimulatedCluster,
    SimulatedClusterTemplate,
    SimulatedMachine,
    SimulatedMachineTemplate,
)
from kapstan.cluster.api.ipam import IPAddress, IPAddressClaim
from kapstan.cluster.controlplane.hosted import webhook as hosted
from kapstan.cluster.core import webhooks as core
from kapstan.cluster.infrastructure.simulated import webhook as simulated
from kapstan.machinery.model import Resource

__all__ = ("KINDS", "WEBHOOKS")

KINDS: tuple[type[Resource], ...] = (
    Cluster,
    ClusterClass,
    Machine,
    MachineDeployment,
    MachineDrainRule,
    MachineHealthCheck,
    MachinePool,
    MachineSet,
    IPAddress,
    IPAddressClaim,
    HostedControlPlane,
    HostedControlPlaneTemplate,
    SimulatedCluster,
    SimulatedClusterTemplate,
    SimulatedMachine,
    SimulatedMachineTemplate,
    Provider,
)

WEBHOOKS: tuple[Any, ...] = (
    *core.WEBHOOKS,
    hosted.validate_hosted_control_plane,
    hosted.validate_hosted_control_plane_template,
    *simulated.WEBHOOKS,
)
