"""Cluster: a Kubernetes cluster, and where its parts are."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import (
    Conditions,
    ContractReference,
    FailureDomainName,
    Gates,
    KubernetesVersion,
    ObservedGeneration,
    VersionCount,
)
from kapstan.cluster.api.core.deprecated import Deprecated
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.topology import Topology
from kapstan.machinery.markers import ListAtomic, ListMap, MinProperties
from kapstan.machinery.meta import Int32
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = (
    "APIEndpoint",
    "Cluster",
    "ClusterNetwork",
    "ClusterPhase",
    "ClusterSpec",
    "ClusterStatus",
    "FailureDomain",
    "FailureDomains",
    "NetworkRanges",
    "ReplicaCounts",
)

ClusterPhase: TypeAlias = Literal["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"]
Port: TypeAlias = Annotated[Int32, Meta(ge=1, le=65535)]


class NetworkRanges(Model):
    """Ranges of addresses."""

    cidr_blocks: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=43)]], Meta(min_length=1, max_length=100), ListAtomic()
    ]
    """Ranges in CIDR notation."""


class ClusterNetwork(Model):
    """The network inside the cluster."""

    api_server_port: Port | None = None
    """The port that the API server binds to. 6443 if absent."""
    services: NetworkRanges | None = None
    """Addresses of services."""
    pods: NetworkRanges | None = None
    """Addresses of pods."""
    service_domain: Annotated[str, Meta(min_length=1, max_length=253)] | None = None
    """The domain of services' names."""


class APIEndpoint(Model):
    """Where the API server of the cluster can be reached."""

    host: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    """A name or an address."""
    port: Port | None = None
    """The port."""


class ClusterSpec(Model):
    """What is wanted of a cluster."""

    paused: bool | None = None
    """Hold the cluster and everything that belongs to it as it is."""
    cluster_network: Annotated[ClusterNetwork, MinProperties(1)] | None = None
    """The network inside the cluster."""
    control_plane_endpoint: Annotated[APIEndpoint, MinProperties(1)] | None = None
    """Where the API server can be reached. Copied from the infrastructure or the control plane, or given."""
    control_plane_ref: ContractReference | None = None
    """The control plane provider's object."""
    infrastructure_ref: ContractReference | None = None
    """The infrastructure provider's object."""
    topology: Topology | None = None
    """The shape of a managed cluster."""
    availability_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Available."""


class ClusterInitialization(Model):
    """Steps that are taken once, when the cluster is made."""

    infrastructure_provisioned: bool | None = None
    """The infrastructure provider has said that the infrastructure is there."""
    control_plane_initialized: bool | None = None
    """The control plane provider has said that the API server accepts requests."""


class UpgradeStep(Model):
    """A version on the way of an upgrade."""

    version: KubernetesVersion
    """The version."""


class ReplicaCounts(Model):
    """How many machines there are of a part of the cluster."""

    desired_replicas: Int32 | None = None
    """How many are wanted."""
    replicas: Int32 | None = None
    """How many there are."""
    up_to_date_replicas: Int32 | None = None
    """How many are up to date."""
    ready_replicas: Int32 | None = None
    """How many are ready."""
    available_replicas: Int32 | None = None
    """How many are available."""
    versions: Annotated[list[VersionCount], Meta(min_length=1, max_length=32), ListAtomic()] = field(
        default_factory=list
    )
    """The versions of Kubernetes that they run."""
    upgrade_plan: Annotated[list[UpgradeStep], Meta(min_length=1, max_length=32), ListAtomic()] = field(
        default_factory=list
    )
    """Versions that an upgrade still has to go through."""


class FailureDomain(Model):
    """A place whose failure does not touch the others."""

    name: FailureDomainName
    """Its name."""
    control_plane: bool | None = None
    """Whether control plane machines may be put there."""
    attributes: dict[str, str] = field(default_factory=dict)
    """Whatever the provider has to say about it."""


FailureDomains: TypeAlias = Annotated[list[FailureDomain], Meta(min_length=1, max_length=100), ListMap("name")]


class ClusterStatus(Model):
    """What was last seen of a cluster."""

    conditions: Conditions = field(default_factory=list)
    """Available, InfrastructureReady, ControlPlaneInitialized, ControlPlaneAvailable, WorkersAvailable, MachinesReady
    and MachinesUpToDate of control plane and workers, RemoteConnectionProbe, RollingOut, ScalingUp, ScalingDown,
    Remediating, Deleting, Paused."""
    initialization: Annotated[ClusterInitialization, MinProperties(1)] | None = None
    """Steps that are taken once. Use conditions to follow the cluster after that."""
    control_plane: ReplicaCounts | None = None
    """Machines of the control plane."""
    workers: ReplicaCounts | None = None
    """Machines of the workers."""
    failure_domains: FailureDomains = field(default_factory=list)
    """Failure domains that the infrastructure has."""
    phase: ClusterPhase | None = None
    """A word for a person. Programs read the conditions."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""
    deprecated: Deprecated | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["cl"],
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("ClusterClass", ".spec.topology.classRef.name"),
        condition_column("Available", "Available"),
        Column("CP Desired", ".status.controlPlane.desiredReplicas", "integer"),
        Column("CP Current", ".status.controlPlane.replicas", "integer", priority=10),
        Column("CP Ready", ".status.controlPlane.readyReplicas", "integer", priority=10),
        Column("CP Available", ".status.controlPlane.availableReplicas", "integer"),
        Column("CP Up-to-date", ".status.controlPlane.upToDateReplicas", "integer"),
        Column("W Desired", ".status.workers.desiredReplicas", "integer"),
        Column("W Current", ".status.workers.replicas", "integer", priority=10),
        Column("W Ready", ".status.workers.readyReplicas", "integer", priority=10),
        Column("W Available", ".status.workers.availableReplicas", "integer"),
        Column("W Up-to-date", ".status.workers.upToDateReplicas", "integer"),
        condition_column("Paused", "Paused", priority=10),
        Column("Phase", ".status.phase"),
        Column.age(),
        Column("Version", ".spec.topology.version"),
    ],
)
class Cluster(Resource):
    """A Kubernetes cluster, and where its parts are."""

    spec: Annotated[ClusterSpec, MinProperties(1)]
    """What is wanted."""
    status: Annotated[ClusterStatus, MinProperties(1)] = field(default_factory=ClusterStatus)
    """What was last seen."""
