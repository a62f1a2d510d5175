"""A cluster's topology: the shape of a managed cluster, from which its objects are made."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import (
    SUBDOMAIN,
    DeletionTimeouts,
    FailureDomainName,
    Gates,
    HealthChecks,
    KubernetesVersion,
    NonEmptyMetadata,
    RemediationTrigger,
    Seconds,
    Subdomain,
    Taints,
    VersionedReference,
)
from kapstan.cluster.api.core.machinedeployment import Rollout
from kapstan.cluster.api.core.machineset import DeletionOrder
from kapstan.machinery.markers import ListAtomic, ListMap, MinProperties
from kapstan.machinery.meta import Int32, IntOrString, Time
from kapstan.machinery.model import Model

__all__ = (
    "ControlPlaneTopology",
    "MachineDeploymentTopology",
    "MachinePoolTopology",
    "Topology",
    "Variable",
    "Workers",
)

ClassName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
TopologyName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=63, pattern=f"^{SUBDOMAIN}$")]


class ClusterClassReference(Model):
    """A ClusterClass."""

    name: Subdomain
    """Its name."""
    namespace: Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | None = (
        None
    )
    """Its namespace; the cluster's own if absent."""


class Variable(Model):
    """A value for a variable of the class."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    """The variable."""
    value: Any
    """Its value, of whichever type the class declares."""


Variables: TypeAlias = Annotated[list[Variable], Meta(min_length=1, max_length=1000), ListMap("name")]


class VariableOverrides(Model):
    """Values that hold for one part of the topology only."""

    overrides: Variables = field(default_factory=list)
    """The values."""


class TopologyRemediation(Model):
    """What happens to unhealthy machines."""

    trigger_if: Annotated[RemediationTrigger, MinProperties(1)] | None = None
    """How many machines may be unhealthy for remediation to go on."""
    template_ref: VersionedReference | None = None
    """A template of requests to somebody else, who remediates instead of the machines' owner."""


class DeploymentTopologyRemediation(TopologyRemediation):
    """What happens to unhealthy machines."""

    max_in_flight: IntOrString | None = None
    """How many machines, or which percentage, may be in replacement at once."""


class TopologyHealthCheck(Model):
    """A MachineHealthCheck for a part of the topology."""

    enabled: bool | None = None
    """Whether there is one; if absent, the class decides."""
    checks: Annotated[HealthChecks, MinProperties(1)] | None = None
    """What makes a machine unhealthy."""
    remediation: Annotated[TopologyRemediation, MinProperties(1)] | None = None
    """What happens to unhealthy machines."""


class DeploymentTopologyHealthCheck(Model):
    """A MachineHealthCheck for a part of the topology."""

    enabled: bool | None = None
    """Whether there is one; if absent, the class decides."""
    checks: Annotated[HealthChecks, MinProperties(1)] | None = None
    """What makes a machine unhealthy."""
    remediation: Annotated[DeploymentTopologyRemediation, MinProperties(1)] | None = None
    """What happens to unhealthy machines."""


class TopologyRollout(Model):
    """When machines are replaced."""

    after: Time | None = None
    """Machines made before this time are replaced even if nothing else has changed."""


class DeploymentTopologyDeletion(DeletionTimeouts):
    """How machines are deleted."""

    order: DeletionOrder | None = None
    """Which machines go first when there are too many."""


class ControlPlaneTopology(Model):
    """The control plane of the cluster."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the control plane and its machines."""
    replicas: Int32 | None = None
    """How many machines; absent where the control plane decides."""
    rollout: Annotated[TopologyRollout, MinProperties(1)] | None = None
    """When machines are replaced."""
    health_check: Annotated[TopologyHealthCheck, MinProperties(1)] | None = None
    """A MachineHealthCheck for the control plane."""
    deletion: Annotated[DeletionTimeouts, MinProperties(1)] | None = None
    """How long the steps of a machine's deletion may take."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    readiness_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Ready of the machines."""
    variables: Annotated[VariableOverrides, MinProperties(1)] | None = None
    """Values for the control plane only."""


class MachineDeploymentTopology(Model):
    """One group of workers, which becomes a MachineDeployment."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the deployment and its machines."""
    class_: ClassName
    """The worker class of the ClusterClass that it is made from."""
    name: TopologyName
    """Tells it apart from other groups of the cluster."""
    failure_domain: FailureDomainName | None = None
    """The failure domain that the machines shall be in."""
    replicas: Int32 | None = None
    """How many machines."""
    health_check: Annotated[DeploymentTopologyHealthCheck, MinProperties(1)] | None = None
    """A MachineHealthCheck for the group."""
    deletion: Annotated[DeploymentTopologyDeletion, MinProperties(1)] | None = None
    """How machines are deleted."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    min_ready_seconds: Seconds | None = None
    """How long a machine must have been ready before it counts as available."""
    readiness_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Ready of the machines."""
    rollout: Annotated[Rollout, MinProperties(1)] | None = None
    """When and how machines are replaced."""
    variables: Annotated[VariableOverrides, MinProperties(1)] | None = None
    """Values for this group only."""


class MachinePoolTopology(Model):
    """One pool of workers, which becomes a MachinePool."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the pool."""
    class_: ClassName
    """The worker class of the ClusterClass that it is made from."""
    name: TopologyName
    """Tells it apart from other pools of the cluster."""
    failure_domains: Annotated[list[FailureDomainName], Meta(min_length=1, max_length=100), ListAtomic()] = field(
        default_factory=list
    )
    """The failure domains that the machines shall be in."""
    deletion: Annotated[DeletionTimeouts, MinProperties(1)] | None = None
    """How long the steps of a machine's deletion may take."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    min_ready_seconds: Seconds | None = None
    """How long a machine must have been ready before it counts as available."""
    replicas: Int32 | None = None
    """How many machines."""
    variables: Annotated[VariableOverrides, MinProperties(1)] | None = None
    """Values for this pool only."""


class Workers(Model):
    """The workers of the cluster."""

    machine_deployments: Annotated[
        list[MachineDeploymentTopology], Meta(min_length=1, max_length=2000), ListMap("name")
    ] = field(default_factory=list)
    """Groups of machines."""
    machine_pools: Annotated[list[MachinePoolTopology], Meta(min_length=1, max_length=2000), ListMap("name")] = field(
        default_factory=list
    )
    """Pools of machines."""


class Topology(Model):
    """The shape of a managed cluster."""

    class_ref: ClusterClassReference
    """The class that the cluster is made from."""
    version: KubernetesVersion
    """The version of Kubernetes of the whole cluster."""
    control_plane: Annotated[ControlPlaneTopology, MinProperties(1)] | None = None
    """The control plane."""
    workers: Annotated[Workers, MinProperties(1)] | None = None
    """The workers."""
    variables: Variables = field(default_factory=list)
    """Values for the variables of the class."""
