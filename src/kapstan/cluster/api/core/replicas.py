"""Replicas: the counters that deployments, sets and pools of machines have alike."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import ObservedGeneration, VersionCount
from kapstan.cluster.api.core.group import condition_column
from kapstan.machinery.markers import ListMap
from kapstan.machinery.meta import Int32
from kapstan.machinery.model import Column, Model

__all__ = ("COLUMNS", "ReplicaStatus", "VersionCounts")

VersionCounts: TypeAlias = Annotated[list[VersionCount], Meta(min_length=1, max_length=100), ListMap("version")]


class ReplicaStatus(Model):
    """How many machines there are, and how they are."""

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


COLUMNS = (
    Column("Desired", ".spec.replicas", "integer"),
    Column("Current", ".status.replicas", "integer"),
    Column("Ready", ".status.readyReplicas", "integer"),
    Column("Available", ".status.availableReplicas", "integer"),
    Column("Up-to-date", ".status.upToDateReplicas", "integer"),
    condition_column("Paused", "Paused", priority=10),
)
