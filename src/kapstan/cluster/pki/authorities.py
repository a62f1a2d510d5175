"""Authorities: a cluster's certificate authorities and its service-account key, found or made, once and for all.

A Secret that is there wins, whoever made it. What is missing is made; each Secret is created in one request, so that a
manager which dies in between finds the ones that it made and makes only the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kapstan.client import Client
from kapstan.cluster.pki.secrets import BadSecret, Purpose, adopt, find_secret, new_secret, secret_name, value_of
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.model import Resource
from kapstan.machinery.pki import (
    CertificateAuthority,
    InvalidPEM,
    KeyAlgorithm,
    SigningKey,
    load_ca,
    new_ca,
    new_signing_key,
)

__all__ = ("ClusterAuthorities", "ensure_authorities")

T = TypeVar("T")

_CERTIFICATE, _KEY = "tls.crt", "tls.key"
_COMMON_NAMES = {Purpose.CA: "kubernetes", Purpose.ETCD: "etcd-ca", Purpose.PROXY: "front-proxy-ca"}


@dataclass(frozen=True)
class ClusterAuthorities:
    """Who vouches for whom in a cluster."""

    # Signs whoever talks to the API server, and the API server itself.
    cluster: CertificateAuthority
    # Signs the API server towards extension API servers.
    front_proxy: CertificateAuthority
    service_account: SigningKey
    # None where the cluster's etcd is not its own.
    etcd: CertificateAuthority | None = None


async def ensure_authorities(
    client: Client,
    cluster: ObjectKey,
    owner: Resource,
    *,
    etcd: bool = True,
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256,
    make: bool = True,
    now: datetime | None = None,
) -> ClusterAuthorities:
    """The authorities of a cluster, made if need be, and checked; BadSecret if a Secret is not what it should be.

    With `make` false none is made: a cluster that works would not survive another authority.
    """
    now = now or datetime.now(UTC)

    async def secret(purpose: Purpose) -> Secret:
        found = await find_secret(client, cluster, purpose)
        if found is None:
            if not make:
                raise BadSecret(f"{_missing(cluster, purpose)} is missing: restore it, or the cluster cannot be kept")
            found = await client.create(new_secret(cluster, purpose, _generate(purpose, algorithm, now), owner))
        return await adopt(client, found, owner)

    async def authority(purpose: Purpose) -> CertificateAuthority:
        found = await secret(purpose)
        loaded = _load(found, _load_authority)
        if loaded.not_after <= now:
            raise BadSecret(f"Secret {found.key}: the authority ended on {loaded.not_after:%Y-%m-%d}: replace it")
        return loaded

    return ClusterAuthorities(
        cluster=await authority(Purpose.CA),
        front_proxy=await authority(Purpose.PROXY),
        service_account=_load(await secret(Purpose.SERVICE_ACCOUNT), _load_signing_key),
        etcd=await authority(Purpose.ETCD) if etcd else None,
    )


def _missing(cluster: ObjectKey, purpose: Purpose) -> str:
    return f"Secret {ObjectKey(cluster.namespace, secret_name(cluster.name, purpose))}"


def _generate(purpose: Purpose, algorithm: KeyAlgorithm, now: datetime) -> dict[str, bytes]:
    """The service-account Secret has the public key where the others have their certificate: so says Cluster API."""
    if purpose is Purpose.SERVICE_ACCOUNT:
        signing = new_signing_key(algorithm)
        return {_CERTIFICATE: signing.public_pem, _KEY: signing.key_pem}
    ca = new_ca(_COMMON_NAMES[purpose], algorithm=algorithm, now=now)
    return {_CERTIFICATE: ca.cert_pem, _KEY: ca.key_pem}


def _load(secret: Secret, load: Callable[[bytes, bytes], T]) -> T:
    try:
        return load(value_of(secret, _CERTIFICATE), value_of(secret, _KEY))
    except InvalidPEM as error:
        raise BadSecret(f"Secret {secret.key}: {error}") from error


# Asked in every reconcile, and to check a key takes milliseconds, an RSA key tens of them.
_load_authority = lru_cache(maxsize=1024)(load_ca)


@lru_cache(maxsize=1024)
def _load_signing_key(public_pem: bytes, key_pem: bytes) -> SigningKey:
    """A key pair for service-account tokens, checked: both parse, and they belong together."""
    try:
        private = serialization.load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidPEM(f"{_KEY} is not an unencrypted PEM private key") from error
    if not isinstance(private, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise InvalidPEM(f"the private key in {_KEY} is neither an ECDSA nor an RSA key, which Kubernetes needs")
    try:
        public = serialization.load_pem_public_key(public_pem)
    except ValueError as error:
        raise InvalidPEM(f"{_CERTIFICATE} is not a PEM public key, which this Secret has to have there") from error
    spki = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if private.public_key().public_bytes(*spki) != public.public_bytes(*spki):
        raise InvalidPEM(f"the private key in {_KEY} does not belong to the public key in {_CERTIFICATE}")
    return SigningKey(public_pem, key_pem)
