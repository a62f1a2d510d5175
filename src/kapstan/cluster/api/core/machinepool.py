"""MachinePool: machines that the infrastructure itself keeps at a number."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import ClusterName, Conditions, FailureDomainName
from kapstan.cluster.api.core.deprecated import DeprecatedMachinePool
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION
from kapstan.cluster.api.core.machine import MachineInitialization, MachineTemplate
from kapstan.cluster.api.core.replicas import COLUMNS, ReplicaStatus
from kapstan.machinery.markers import ListAtomic, MinProperties, StructAtomic
from kapstan.machinery.meta import Int32
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.scheme import resource

__all__ = ("MachinePool", "MachinePoolPhase", "MachinePoolSpec", "MachinePoolStatus")

MachinePoolPhase: TypeAlias = Literal[
    "Pending",
    "Provisioning",
    "Provisioned",
    "Running",
    "ScalingUp",
    "ScalingDown",
    "Scaling",
    "Deleting",
    "Failed",
    "Unknown",
]


class MachinePoolSpec(Model):
    """What is wanted of a pool of machines."""

    cluster_name: ClusterName
    """The cluster that the machines belong to."""
    replicas: Int32 | None = None
    """How many machines."""
    template: MachineTemplate
    """What they are made from."""
    provider_id_list: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=512)]], Meta(max_length=10000), ListAtomic()
    ] = field(default_factory=list, name="providerIDList")
    """How the infrastructure calls the machines."""
    failure_domains: Annotated[list[FailureDomainName], Meta(max_length=100), ListAtomic()] = field(
        default_factory=list
    )
    """Failure domains that the machines shall be in."""


class ObjectReference(Model):
    """An object of the workload cluster."""

    api_version: str | None = None
    """Its API group and version."""
    kind: str | None = None
    """Its kind."""
    namespace: str | None = None
    """Its namespace."""
    name: str | None = None
    """Its name."""
    uid: str | None = None
    """Its uid."""
    resource_version: str | None = None
    """Its version, where just that one is meant."""
    field_path: str | None = None
    """A part of it."""


class MachinePoolStatus(ReplicaStatus):
    """What was last seen of a pool of machines."""

    conditions: Conditions = field(default_factory=list)
    """Paused."""
    initialization: Annotated[MachineInitialization, MinProperties(1)] | None = None
    """Steps that are taken once."""
    node_refs: Annotated[list[Annotated[ObjectReference, StructAtomic()]], Meta(max_length=10000), ListAtomic()] = (
        field(default_factory=list)
    )
    """The Nodes."""
    phase: MachinePoolPhase | None = None
    """A word for a person."""
    deprecated: DeprecatedMachinePool | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["mp"],
    categories=CATEGORIES,
    labels=LABELS,
    scale=Scale(),
    columns=[
        Column("Cluster", ".spec.clusterName"),
        *COLUMNS,
        Column("Phase", ".status.phase"),
        Column.age(),
        Column("Version", ".spec.template.spec.version"),
    ],
)
class MachinePool(Resource):
    """Machines that the infrastructure itself keeps at a number."""

    spec: MachinePoolSpec
    """What is wanted."""
    status: Annotated[MachinePoolStatus, MinProperties(1)] = field(default_factory=MachinePoolStatus)
    """What was last seen."""
