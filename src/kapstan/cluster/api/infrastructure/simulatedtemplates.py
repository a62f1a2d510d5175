"""Templates: what simulated clusters and machines are made from."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from kapstan.cluster.api.core.common import NonEmptyMetadata
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION
from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.simulatedcluster import SimulatedClusterSettings
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachineSettings
from kapstan.machinery.markers import MinProperties
from kapstan.machinery.meta import Quantity
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("SimulatedClusterTemplate", "SimulatedMachineTemplate")


class SimulatedClusterTemplateResource(Model):
    """What each infrastructure is made from."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations to set."""
    spec: SimulatedClusterSettings
    """What is wanted."""


class SimulatedClusterTemplateSpec(Model):
    """What is wanted of infrastructures."""

    template: SimulatedClusterTemplateResource
    """What each infrastructure is made from."""


@resource(group=GROUP, version=VERSION, categories=CATEGORIES, labels=LABELS, columns=[Column.age()])
class SimulatedClusterTemplate(Resource):
    """What the infrastructures of a ClusterClass are made from."""

    spec: SimulatedClusterTemplateSpec
    """What is wanted."""


class SimulatedMachineTemplateResource(Model):
    """What each computer is made from."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations to set."""
    spec: SimulatedMachineSettings
    """What is wanted."""


class SimulatedMachineTemplateSpec(Model):
    """What is wanted of computers."""

    template: SimulatedMachineTemplateResource
    """What each computer is made from."""


class SimulatedMachineTemplateStatus(Model):
    """What is known of computers before there is one, for scaling from zero."""

    capacity: Annotated[dict[str, Quantity], Meta(max_length=64)] = field(default_factory=dict)
    """What the node of each has for pods."""


@resource(group=GROUP, version=VERSION, categories=CATEGORIES, labels=LABELS, columns=[Column.age()])
class SimulatedMachineTemplate(Resource):
    """What simulated machines are made from."""

    spec: SimulatedMachineTemplateSpec
    """What is wanted."""
    status: Annotated[SimulatedMachineTemplateStatus, MinProperties(1)] = field(
        default_factory=SimulatedMachineTemplateStatus
    )
    """What is known of them."""
