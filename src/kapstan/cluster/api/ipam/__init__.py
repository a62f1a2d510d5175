"""ipam.cluster.x-k8s.io/v1beta2: addresses, claimed from a pool and given by whoever manages it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from kapstan.cluster.api.core.common import ClusterName, Conditions, ContractReference, Subdomain
from kapstan.cluster.api.core.deprecated import DeprecatedConditions
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION
from kapstan.machinery.markers import MinProperties
from kapstan.machinery.meta import Int32
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("GROUP", "IPAddress", "IPAddressClaim", "IPAddressClaimSpec", "IPAddressClaimStatus", "IPAddressSpec")

GROUP = "ipam.cluster.x-k8s.io"
_POOL_COLUMNS = [
    Column("Pool Name", ".spec.poolRef.name"),
    Column("Pool Kind", ".spec.poolRef.kind"),
    Column.age(),
]


class NamedReference(Model):
    """An object of the same namespace."""

    name: Subdomain
    """Its name."""


class IPAddressClaimSpec(Model):
    """The wish for an address."""

    cluster_name: ClusterName | None = None
    """The cluster that it is for."""
    pool_ref: ContractReference
    """The pool to take it from."""


class IPAddressClaimStatus(Model):
    """What became of the wish."""

    conditions: Conditions = field(default_factory=list)
    """Ready, once there is an address."""
    address_ref: NamedReference | None = None
    """The IPAddress that was given."""
    deprecated: DeprecatedConditions | None = None
    """What remains of older versions of the API."""


@resource(group=GROUP, version=VERSION, categories=CATEGORIES, labels=LABELS, columns=_POOL_COLUMNS)
class IPAddressClaim(Resource):
    """The wish for an address from a pool."""

    spec: IPAddressClaimSpec
    """What is wanted."""
    status: Annotated[IPAddressClaimStatus, MinProperties(1)] = field(default_factory=IPAddressClaimStatus)
    """What became of it."""


class IPAddressSpec(Model):
    """An address that was given."""

    claim_ref: NamedReference
    """The claim that it was given to."""
    pool_ref: ContractReference
    """The pool that it was taken from."""
    address: Annotated[str, Meta(min_length=1, max_length=39)]
    """The address."""
    prefix: Annotated[Int32, Meta(ge=0, le=128)]
    """The length of the network's prefix."""
    gateway: Annotated[str, Meta(min_length=1, max_length=39)] | None = None
    """The gateway of the network."""


@resource(
    group=GROUP,
    version=VERSION,
    plural="ipaddresses",
    categories=CATEGORIES,
    labels=LABELS,
    columns=[Column("Address", ".spec.address"), *_POOL_COLUMNS],
)
class IPAddress(Resource):
    """An address that was given to a claim."""

    spec: IPAddressSpec
    """The address."""
