"""SimulatedCluster: the infrastructure of a cluster whose machines exist in the manager's memory only."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kapstan.cluster.api.core.cluster import APIEndpoint, FailureDomains
from kapstan.cluster.api.core.common import Conditions, ObservedGeneration
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION, condition_column
from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.timing import Timing
from kapstan.machinery.markers import MinProperties
from kapstan.machinery.meta import MicroTime
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = (
    "InfrastructureInitialization",
    "SimulatedCluster",
    "SimulatedClusterSettings",
    "SimulatedClusterSpec",
    "SimulatedClusterStatus",
)


class SimulatedClusterSettings(Model):
    """What is wanted of the infrastructure of a cluster, apart from its place."""

    failure_domains: FailureDomains = field(default_factory=list)
    """Failure domains to offer."""
    provisioning: Annotated[Timing, MinProperties(1)] | None = None
    """How long it takes until the infrastructure is there. No time if absent."""


class SimulatedClusterSpec(SimulatedClusterSettings):
    """What is wanted of the infrastructure of a cluster."""

    control_plane_endpoint: Annotated[APIEndpoint, MinProperties(1)] | None = None
    """Where the API server is reached, if the infrastructure is to say so. A hosted control plane says it itself."""


class InfrastructureInitialization(Model):
    """Steps that are taken once, when the infrastructure is made."""

    provisioned: bool | None = None
    """The infrastructure is there."""


class SimulatedClusterStatus(Model):
    """What was last seen of the infrastructure of a cluster."""

    conditions: Conditions = field(default_factory=list)
    """Ready, Paused, Deleting."""
    initialization: Annotated[InfrastructureInitialization, MinProperties(1)] | None = None
    """Steps that are taken once. Use conditions to follow the infrastructure after that."""
    failure_domains: FailureDomains = field(default_factory=list)
    """Failure domains that there are."""
    start_time: MicroTime | None = None
    """When provisioning began."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""


@resource(
    group=GROUP,
    version=VERSION,
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("Cluster", r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"),
        condition_column("Ready", "Ready"),
        Column("Provisioned", ".status.initialization.provisioned", "boolean"),
        condition_column("Paused", "Paused", priority=10),
        Column.age(),
    ],
)
class SimulatedCluster(Resource):
    """The infrastructure of a cluster whose machines exist in the manager's memory only."""

    spec: SimulatedClusterSpec = field(default_factory=SimulatedClusterSpec)
    """What is wanted."""
    status: Annotated[SimulatedClusterStatus, MinProperties(1)] = field(default_factory=SimulatedClusterStatus)
    """What was last seen."""
