"""SimulatedMachine: a computer that exists in the manager's memory only, and whose node is real to the API server."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import Conditions, FailureDomainName, ObservedGeneration
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.machine import MachineAddresses
from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.simulatedcluster import InfrastructureInitialization
from kapstan.cluster.api.infrastructure.timing import Timing
from kapstan.machinery.markers import Default, ListMap, MinProperties
from kapstan.machinery.meta import Int32, MicroTime, Quantity
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.rules import cel
from kapstan.machinery.scheme import resource

__all__ = (
    "Failure",
    "FailureType",
    "SimulatedMachine",
    "SimulatedMachineSettings",
    "SimulatedMachineSpec",
    "SimulatedMachineStatus",
)

FailureType: TypeAlias = Literal["NeverBoots", "Dies", "NotReady", "Flaps"]


class Failure(Model):
    """Something that goes wrong with the computer, or with some of those that are made alike."""

    type: FailureType
    """The computer is there but no node appears (NeverBoots), it stops for good and its node is silent (Dies), its
    node stays but is not ready (NotReady), or is ready and not ready by turns (Flaps)."""
    after_seconds: Annotated[Int32, Meta(ge=0)] | None = None
    """How long after the boot it goes wrong. At once if absent."""
    period_seconds: Annotated[Int32, Meta(ge=1), Default(10)] | None = None
    """For Flaps: how long each turn lasts."""
    percent: Annotated[Int32, Meta(ge=0, le=100), Default(100)] | None = None
    """How many in a hundred computers it happens to. It is always the same ones."""


class SimulatedMachineSettings(Model):
    """What is wanted of a computer, apart from who it is."""

    capacity: Annotated[
        dict[str, Quantity], Meta(max_length=64), Default({"cpu": "4", "memory": "16Gi", "pods": "110"})
    ] = field(default_factory=dict)
    """What its node has for pods: cpu, memory, pods and whatever else is named."""
    boot: Annotated[Timing, MinProperties(1)] | None = None
    """How long it takes to boot. No time if absent."""
    deletion: Annotated[Timing, MinProperties(1)] | None = None
    """How long it takes to go away. No time if absent."""
    failures: Annotated[list[Failure], Meta(max_length=4), ListMap("type")] = field(default_factory=list)
    """What goes wrong. Nothing if absent."""


@cel(
    "!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",
    message="providerID cannot be changed: the node is found by it",
    field_path=".providerID",
)
class SimulatedMachineSpec(SimulatedMachineSettings):
    """What is wanted of a computer."""

    provider_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = field(default=None, name="providerID")
    """How the computer is called. Filled in by the controller."""


class SimulatedMachineStatus(Model):
    """What was last seen of a computer."""

    conditions: Conditions = field(default_factory=list)
    """Ready, Paused, Deleting."""
    initialization: Annotated[InfrastructureInitialization, MinProperties(1)] | None = None
    """Steps that are taken once. Use conditions to follow the computer after that."""
    addresses: MachineAddresses = field(default_factory=list)
    """The addresses of the computer."""
    failure_domain: FailureDomainName | None = None
    """The failure domain that the computer is in."""
    start_time: MicroTime | None = None
    """When it began to boot."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""


@resource(
    group=GROUP,
    version=VERSION,
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("Cluster", r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"),
        Column("Machine", '.metadata.ownerReferences[?(@.kind=="Machine")].name'),
        Column("Provider ID", ".spec.providerID", priority=10),
        condition_column("Ready", "Ready"),
        Column("Provisioned", ".status.initialization.provisioned", "boolean"),
        condition_column("Paused", "Paused", priority=10),
        Column.age(),
    ],
)
class SimulatedMachine(Resource):
    """A computer that exists in the manager's memory only, and whose node is real to the API server."""

    spec: SimulatedMachineSpec = field(default_factory=SimulatedMachineSpec)
    """What is wanted."""
    status: Annotated[SimulatedMachineStatus, MinProperties(1)] = field(default_factory=SimulatedMachineStatus)
    """What was last seen."""
