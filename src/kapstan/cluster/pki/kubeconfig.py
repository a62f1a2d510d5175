"""Kubeconfig: the administrator's way into a cluster, as Cluster API names and renews it.

The client certificate is renewed at half of its life: whoever holds a copy of the Secret has as long to fetch it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from kapstan.client import Client, Kubeconfig
from kapstan.client.kubeconfig import Cluster, User
from kapstan.cluster.pki.secrets import BadSecret, Purpose, adopt, find_secret, is_generated, new_secret, value_of
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.model import Resource
from kapstan.machinery.pki import (
    LEAF_VALIDITY,
    CertificateAuthority,
    InvalidPEM,
    KeyAlgorithm,
    is_signed_by,
    load_certificates,
)

__all__ = ("Administrator", "ensure_kubeconfig")

_KEY = "value"


@dataclass(frozen=True, kw_only=True)
class Administrator:
    """What the kubeconfig of a cluster's administrator has to say."""

    cluster: str
    # https://host:port
    server: str
    ca: CertificateAuthority
    validity: timedelta = LEAF_VALIDITY
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256

    def kubeconfig(self, *, now: datetime | None = None) -> str:
        """A new one, with a new key in it."""
        client = self.ca.issue(
            "kubernetes-admin",
            organizations=["system:masters"],
            validity=self.validity,
            algorithm=self.algorithm,
            now=now,
        )
        return Kubeconfig.of(
            self.cluster,
            f"{self.cluster}-admin",
            Cluster(server=self.server, certificate_authority_data=self.ca.cert_pem),
            User(client_certificate_data=client.cert_pem, client_key_data=client.key_pem),
        ).to_yaml()

    def why_renew(self, text: bytes, *, now: datetime | None = None) -> str | None:
        """Why a kubeconfig has to be made anew, or None if it is still good."""
        end, reason = _examined(self, text)
        if end is None:
            return reason
        # One that lasts as long as its authority cannot be bettered.
        if end < self.ca.not_after and end <= (now or datetime.now(UTC)) + self.validity / 2:
            return f"its client certificate ends on {end:%Y-%m-%d}"
        return None


@lru_cache(maxsize=1024)  # asked in every reconcile, and to read YAML takes milliseconds
def _examined(administrator: Administrator, text: bytes) -> tuple[datetime | None, str]:
    """When a kubeconfig ends; None and why if it is not the administrator's, whatever the time."""
    try:
        found = Kubeconfig.parse(text)
    except ConfigError as error:
        return None, str(error)
    name, ca = administrator.cluster, administrator.ca
    cluster, user = found.clusters.get(name), found.users.get(f"{name}-admin")
    if cluster is None or user is None:
        return None, "it has no cluster or user of the expected name"
    if cluster.server != administrator.server:
        return None, "the endpoint has changed"
    if cluster.certificate_authority_data != ca.cert_pem:
        return None, "the certificate authority has changed"
    try:
        certificate = load_certificates(user.client_certificate_data)[0]
        signed = is_signed_by(user.client_certificate_data, ca.cert_pem)
    except InvalidPEM:
        return None, "its client certificate cannot be read"
    return (certificate.not_valid_after_utc, "") if signed else (None, "its client certificate is of another authority")


async def ensure_kubeconfig(
    client: Client, cluster: ObjectKey, administrator: Administrator, owner: Resource, *, now: datetime | None = None
) -> Secret:
    """The kubeconfig Secret of a cluster, made or renewed if need be; one that the user brought is left alone."""
    secret = await find_secret(client, cluster, Purpose.KUBECONFIG)
    if secret is None:
        data = {_KEY: administrator.kubeconfig(now=now).encode()}
        return await client.create(new_secret(cluster, Purpose.KUBECONFIG, data, owner))
    if not is_generated(secret):
        _check(secret)
        return secret
    secret = await adopt(client, secret, owner)
    if administrator.why_renew(secret.data.get(_KEY, b""), now=now) is None or not secret.is_controlled_by(owner):
        return secret
    async with client.edit(secret) as edited:
        edited.data[_KEY] = administrator.kubeconfig(now=now).encode()
    return edited


def _check(secret: Secret) -> None:
    try:
        Kubeconfig.parse(value_of(secret, _KEY))
    except ConfigError as error:
        raise BadSecret(f"Secret {secret.key}: {error}") from error
