"""MachineHealthCheck: which machines are unhealthy, and when they are replaced."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from kapstan.cluster.api.core.common import (
    ClusterName,
    Conditions,
    HealthChecks,
    ObservedGeneration,
    RemediationTrigger,
    VersionedReference,
)
from kapstan.cluster.api.core.deprecated import DeprecatedConditions
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.machinery.markers import ListAtomic, MinProperties
from kapstan.machinery.meta import Int32, LabelSelector
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("MachineHealthCheck", "MachineHealthCheckSpec", "MachineHealthCheckStatus")


class HealthCheckRemediation(Model):
    """What happens to unhealthy machines."""

    trigger_if: Annotated[RemediationTrigger, MinProperties(1)] | None = None
    """How many machines may be unhealthy for remediation to go on."""
    template_ref: VersionedReference | None = None
    """A template of requests to somebody else, who remediates instead of the machines' owner."""


class MachineHealthCheckSpec(Model):
    """What is looked at, and what is done about it."""

    cluster_name: ClusterName
    """The cluster that the machines belong to."""
    selector: LabelSelector
    """Which machines are looked at."""
    checks: Annotated[HealthChecks, MinProperties(1)] | None = None
    """What makes a machine unhealthy."""
    remediation: Annotated[HealthCheckRemediation, MinProperties(1)] | None = None
    """What happens to unhealthy machines."""


Count = Annotated[Int32, Meta(ge=0)]


class MachineHealthCheckStatus(Model):
    """What was last seen of the machines."""

    conditions: Conditions = field(default_factory=list)
    """RemediationAllowed, Paused."""
    expected_machines: Count | None = None
    """How many machines are looked at."""
    current_healthy: Count | None = None
    """How many of them are healthy."""
    remediations_allowed: Count | None = None
    """How many more may be remediated before the limit is reached."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""
    targets: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=253)]], Meta(max_length=10000), ListAtomic()
    ] = field(default_factory=list)
    """The names of the machines that are looked at."""
    deprecated: DeprecatedConditions | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["mhc", "mhcs"],
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("Replicas", ".status.expectedMachines", "integer"),
        Column("Healthy", ".status.currentHealthy", "integer"),
        condition_column("Paused", "Paused", priority=10),
        Column.age(),
    ],
)
class MachineHealthCheck(Resource):
    """Which machines are unhealthy, and when they are replaced."""

    spec: MachineHealthCheckSpec
    """What is looked at, and what is done about it."""
    status: Annotated[MachineHealthCheckStatus, MinProperties(1)] = field(default_factory=MachineHealthCheckStatus)
    """What was last seen."""
