"""Secrets of a cluster: their names, their type, their keys.

The type tells who made a Secret: those of Cluster API's own type are generated and managed here; any other type
(`kubernetes.io/tls`, `Opaque`) was brought by the user, who is taken at his word and never overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kapstan.client import Client
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import set_controller
from kapstan.runtime.cachedclient import CachedClient

__all__ = (
    "CLUSTER_NAME_LABEL",
    "SECRET_TYPE",
    "BadSecret",
    "Purpose",
    "adopt",
    "find_secret",
    "is_generated",
    "new_secret",
    "secret_name",
    "value_of",
)

CLUSTER_NAME_LABEL = "cluster.x-k8s.io/cluster-name"
SECRET_TYPE = "cluster.x-k8s.io/secret"  # noqa: S105 - a type, no secret


class Purpose(StrEnum):
    """What a Secret of a cluster is for: the last part of its name."""

    CA = "ca"
    ETCD = "etcd"
    PROXY = "proxy"
    SERVICE_ACCOUNT = "sa"
    KUBECONFIG = "kubeconfig"


class BadSecret(KapstanError):
    """A Secret does not hold what it should; the text says what is missing, never what is there."""


def secret_name(cluster: str, purpose: Purpose) -> str:
    return f"{cluster}-{purpose}"


def new_secret(cluster: ObjectKey, purpose: Purpose, data: Mapping[str, bytes], owner: Resource) -> Secret:
    """A Secret as Cluster API makes it, controlled by its owner."""
    secret = Secret(
        metadata=ObjectMeta(
            name=secret_name(cluster.name, purpose),
            namespace=cluster.namespace,
            labels={CLUSTER_NAME_LABEL: cluster.name},
        ),
        type=SECRET_TYPE,
        data=dict(data),
    )
    set_controller(owner, secret)
    return secret


def is_generated(secret: Secret) -> bool:
    """Whether it is one of ours to manage, not the user's."""
    return secret.type == SECRET_TYPE


def value_of(secret: Secret, key: str) -> bytes:
    """What a Secret holds under a key; BadSecret if that is nothing."""
    value = secret.data.get(key)
    if not value:
        raise BadSecret(f"Secret {secret.key}: the key {key} is missing or empty")
    return value


async def find_secret(client: Client, cluster: ObjectKey, purpose: Purpose) -> Secret | None:
    """A Secret of a cluster. One that a cache does not have is asked for: users' own may lack the label it selects."""
    name = secret_name(cluster.name, purpose)
    found = await client.find(Secret, name, cluster.namespace)
    if found is None and isinstance(client, CachedClient):
        found = await client.live.find(Secret, name, cluster.namespace)
    return found


async def adopt(client: Client, secret: Secret, owner: Resource) -> Secret:
    """Make sure that a generated Secret goes when its owner does; after a move, nobody owns it."""
    if not is_generated(secret) or secret.controller_ref() is not None:
        return secret
    async with client.edit(secret) as edited:
        set_controller(owner, edited)
    return edited
