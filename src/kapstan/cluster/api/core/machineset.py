"""MachineSet: so many machines, all alike."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import ClusterName, Conditions
from kapstan.cluster.api.core.deprecated import DeprecatedMachineSet
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION
from kapstan.cluster.api.core.machine import MachineTemplate
from kapstan.cluster.api.core.replicas import COLUMNS, ReplicaStatus
from kapstan.machinery.markers import MinProperties
from kapstan.machinery.meta import Int32, LabelSelector
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.scheme import resource

__all__ = ("DeletionOrder", "MachineNaming", "MachineSet", "MachineSetSpec", "MachineSetStatus")

DeletionOrder: TypeAlias = Literal["Random", "Newest", "Oldest"]


class ScaleDown(Model):
    """Which machines go first."""

    order: DeletionOrder | None = None
    """Random if absent. Machines that are marked for deletion or unhealthy go before all others."""


class MachineNaming(Model):
    """How new machines are named."""

    template: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """A Go template over .cluster.name, .machineSet.name and .random, which it must contain."""


class MachineSetSpec(Model):
    """What is wanted of a set of machines."""

    cluster_name: ClusterName
    """The cluster that the machines belong to."""
    replicas: Int32 | None = None
    """How many machines."""
    template: MachineTemplate
    """What they are made from."""
    selector: LabelSelector
    """Which machines belong to the set; the labels of the template must match."""
    machine_naming: Annotated[MachineNaming, MinProperties(1)] | None = None
    """How new machines are named."""
    deletion: Annotated[ScaleDown, MinProperties(1)] | None = None
    """Which machines go first when there are too many."""


class MachineSetStatus(ReplicaStatus):
    """What was last seen of a set of machines."""

    conditions: Conditions = field(default_factory=list)
    """MachinesReady, MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting, Paused."""
    selector: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """The selector as text, for the scale subresource."""
    deprecated: DeprecatedMachineSet | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["ms"],
    categories=CATEGORIES,
    labels=LABELS,
    scale=Scale(selector=".status.selector"),
    columns=[
        Column("Cluster", ".spec.clusterName"),
        *COLUMNS,
        Column.age(),
        Column("Version", ".spec.template.spec.version"),
    ],
)
class MachineSet(Resource):
    """So many machines, all alike."""

    spec: MachineSetSpec
    """What is wanted."""
    status: Annotated[MachineSetStatus, MinProperties(1)] = field(default_factory=MachineSetStatus)
    """What was last seen."""
