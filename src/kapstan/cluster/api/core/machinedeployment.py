"""MachineDeployment: machines that are replaced step by step when their template changes."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import ClusterName, Conditions
from kapstan.cluster.api.core.deprecated import DeprecatedMachineDeployment
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.machine import MachineTemplate
from kapstan.cluster.api.core.machineset import MachineNaming, ScaleDown
from kapstan.cluster.api.core.replicas import COLUMNS, ReplicaStatus
from kapstan.machinery.markers import MinProperties
from kapstan.machinery.meta import Int32, IntOrString, LabelSelector, Time
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.scheme import resource

__all__ = (
    "MachineDeployment",
    "MachineDeploymentPhase",
    "MachineDeploymentSpec",
    "MachineDeploymentStatus",
    "RollingUpdate",
    "Rollout",
    "RolloutStrategy",
)

MachineDeploymentPhase: TypeAlias = Literal["ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"]


class RollingUpdate(Model):
    """The bounds of a rolling update."""

    max_unavailable: IntOrString | None = None
    """How many machines, or which percentage (rounded down), may be missing. 0 if absent."""
    max_surge: IntOrString | None = None
    """How many machines, or which percentage (rounded up), there may be beyond the wanted number. 1 if absent."""


class RolloutStrategy(Model):
    """How old machines are replaced by new ones."""

    type: Literal["RollingUpdate", "OnDelete"]
    """Step by step (RollingUpdate), or whenever somebody deletes an old one (OnDelete)."""
    rolling_update: Annotated[RollingUpdate, MinProperties(1)] | None = None
    """The bounds of a rolling update."""


class Rollout(Model):
    """When and how machines are replaced."""

    after: Time | None = None
    """Machines made before this time are replaced even if nothing else has changed."""
    strategy: Annotated[RolloutStrategy, MinProperties(1)] | None = None
    """How old machines are replaced by new ones."""


class Remediation(Model):
    """How unhealthy machines are replaced."""

    max_in_flight: IntOrString | None = None
    """How many machines, or which percentage, may be in replacement at once. Without limit if absent."""


class MachineDeploymentSpec(Model):
    """What is wanted of a deployment of machines."""

    cluster_name: ClusterName
    """The cluster that the machines belong to."""
    replicas: Int32 | None = None
    """How many machines."""
    selector: LabelSelector
    """Which machines belong to the deployment; the labels of the template must match."""
    template: MachineTemplate
    """What they are made from. A change of it replaces them, except where the change can be made in place."""
    rollout: Annotated[Rollout, MinProperties(1)] | None = None
    """When and how machines are replaced."""
    machine_naming: Annotated[MachineNaming, MinProperties(1)] | None = None
    """How new machines are named."""
    remediation: Annotated[Remediation, MinProperties(1)] | None = None
    """How unhealthy machines are replaced."""
    deletion: Annotated[ScaleDown, MinProperties(1)] | None = None
    """Which machines go first when there are too many."""
    paused: bool | None = None
    """Hold everything as it is."""


class MachineDeploymentStatus(ReplicaStatus):
    """What was last seen of a deployment of machines."""

    conditions: Conditions = field(default_factory=list)
    """Available, MachinesReady, MachinesUpToDate, RollingOut, ScalingUp, ScalingDown, Remediating, Deleting, Paused."""
    selector: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """The selector as text, for the scale subresource."""
    phase: MachineDeploymentPhase | None = None
    """A word for a person. Programs read the conditions."""
    deprecated: DeprecatedMachineDeployment | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["md"],
    categories=CATEGORIES,
    labels=LABELS,
    scale=Scale(selector=".status.selector"),
    columns=[
        Column("Cluster", ".spec.clusterName"),
        condition_column("Available", "Available"),
        *COLUMNS,
        Column("Phase", ".status.phase"),
        Column.age(),
        Column("Version", ".spec.template.spec.version"),
    ],
)
class MachineDeployment(Resource):
    """Machines that are replaced step by step when their template changes."""

    spec: MachineDeploymentSpec
    """What is wanted."""
    status: Annotated[MachineDeploymentStatus, MinProperties(1)] = field(default_factory=MachineDeploymentStatus)
    """What was last seen."""
