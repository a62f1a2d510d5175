"""HostedControlPlaneTemplate: what the control planes of a ClusterClass are made from."""

from __future__ import annotations

from typing import Annotated

from kapstan.cluster.api.controlplane.group import GROUP
from kapstan.cluster.api.controlplane.hosted import DatastoreSettings, HostedControlPlaneSettings
from kapstan.cluster.api.core.common import NonEmptyMetadata
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION
from kapstan.machinery.markers import Default
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.rules import cel
from kapstan.machinery.scheme import resource

__all__ = (
    "HostedControlPlaneTemplate",
    "HostedControlPlaneTemplateResource",
    "HostedControlPlaneTemplateResourceSpec",
    "HostedControlPlaneTemplateSpec",
)


@cel(
    "!has(self.etcd) || !has(self.datastore) || self.datastore.type == 'DedicatedEtcd'",
    message="settings of etcd need datastore.type DedicatedEtcd",
    field_path=".etcd",
)
class HostedControlPlaneTemplateResourceSpec(HostedControlPlaneSettings):
    """What is wanted of each control plane. Version, size and place come from its cluster."""

    datastore: Annotated[DatastoreSettings, Default({"type": "DedicatedEtcd"})] | None = None
    """Where the cluster's objects are kept."""


class HostedControlPlaneTemplateResource(Model):
    """What each control plane is made from."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations to set."""
    spec: HostedControlPlaneTemplateResourceSpec
    """What is wanted."""


class HostedControlPlaneTemplateSpec(Model):
    """What is wanted of control planes."""

    template: HostedControlPlaneTemplateResource
    """What each control plane is made from."""


@resource(
    group=GROUP,
    version=VERSION,
    categories=CATEGORIES,
    labels=LABELS,
    columns=[Column("Runtime", ".spec.template.spec.runtime.type"), Column.age()],
)
class HostedControlPlaneTemplate(Resource):
    """What the control planes of a ClusterClass are made from."""

    spec: HostedControlPlaneTemplateSpec
    """What is wanted."""
