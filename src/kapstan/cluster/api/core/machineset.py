"""MachineSet: so many machines, all alike."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import (
    ClusterName,
    Conditions,
    ObservedGeneration,
    VersionCount,
)
from kapstan.cluster.api.core.deprecated import DeprecatedMachineSet
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.machine import MachineTemplate
from kapstan.machinery.markers import ListMap, MinProperties
from kapstan.machinery.meta import Int32, LabelSelector
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.scheme import resource

__all__ = ("DeletionOrder", "MachineNaming", "MachineSet", "MachineSetSpec", "MachineSetStatus", "VersionCounts")

DeletionOrder: TypeAlias = Literal["Random", "Newest", "Oldest"]
VersionCounts: TypeAlias = Annotated[list[VersionCount], Meta(min_length=1, max_length=100), ListMap("version")]


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


class MachineSetStatus(Model):
    """What was last seen of a set of machines."""

    conditions: Conditions = field(default_factory=list)
    """MachinesReady, MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting, Paused."""
    selector: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """The selector as text, for the scale subresource."""
    replicas: Int32 | None = None
    """How many machines there are."""
    ready_replicas: Int32 | None = None
    """How many are ready."""
    available_replicas: Int32 | None = None
    """How many are available."""
    up_to_date_replicas: Int32 | None = None
    """How many are up to date."""
    versions: VersionCounts = field(default_factory=list)
    """The versions of Kubernetes that they run."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""
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
        Column("Desired", ".spec.replicas", "integer"),
        Column("Current", ".status.replicas", "integer"),
        Column("Ready", ".status.readyReplicas", "integer"),
        Column("Available", ".status.availableReplicas", "integer"),
        Column("Up-to-date", ".status.upToDateReplicas", "integer"),
        condition_column("Paused", "Paused", priority=10),
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
