"""clusterctl.cluster.x-k8s.io/v1alpha3: what clusterctl remembers of the providers that it has installed.

The kind has to be there before clusterctl describes or moves clusters; there need not be an object of it.
"""

from __future__ import annotations

from kapstan.cluster.api.core.group import CATEGORIES, CLUSTERCTL
from kapstan.machinery.model import Column, Resource
from kapstan.machinery.scheme import resource

__all__ = ("Provider",)


@resource(
    group="clusterctl.cluster.x-k8s.io",
    version="v1alpha3",
    categories=CATEGORIES,
    labels=CLUSTERCTL,
    columns=[
        Column.age(),
        Column("Type", ".type"),
        Column("Provider", ".providerName"),
        Column("Version", ".version"),
    ],
)
class Provider(Resource):
    """A provider that clusterctl has installed."""

    provider_name: str | None = None
    """The name of the provider."""
    type: str | None = None
    """What it provides, such as CoreProvider or InfrastructureProvider."""
    version: str | None = None
    """The version that is installed."""
    watched_namespace: str | None = None
    """The namespace that it looks after. Providers look after all, so it is absent."""
