"""Leaves: the certificates of a control plane that authorities sign: which there are, and when each is made anew.

Pure: what is there goes in, what there shall be comes out. A leaf is replaced when it is missing, nears its end, is
not of the authority any more, or does not have the names that it should. How its key is made is no reason: a changed
algorithm is taken up when it is renewed anyway.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from cryptography import x509
from cryptography.x509.oid import NameOID

from kapstan.machinery.pki import (
    LEAF_VALIDITY,
    CertificateAuthority,
    InvalidPEM,
    KeyAlgorithm,
    KeyPair,
    Usage,
    is_signed_by,
    load_key_pair,
)

__all__ = ("Issuance", "Issuer", "Leaf", "Leaves", "renew")


class Issuer(StrEnum):
    """An authority, by kubeadm's name of its files."""

    CLUSTER = "ca"
    FRONT_PROXY = "front-proxy-ca"
    ETCD = "etcd/ca"


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A certificate that there shall be. Its name is that of its files, without their ending."""

    name: str
    issuer: Issuer
    common_name: str
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    usages: tuple[Usage, ...] = (Usage.CLIENT,)


@dataclass(frozen=True, kw_only=True)
class Issuance:
    """How leaves are made, and how long before their end again."""

    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256
    validity: timedelta = LEAF_VALIDITY
    renew_before: timedelta = timedelta(days=60)


@dataclass(frozen=True)
class Leaves:
    """The leaves as they shall be now."""

    pairs: Mapping[str, KeyPair] = field(repr=False)
    # Why each of those that were made anew was.
    renewed: Mapping[str, str]
    # When to ask again.
    next_renewal: datetime

    @property
    def files(self) -> dict[str, bytes]:
        """Content by file name."""
        return {
            name: content
            for leaf, pair in self.pairs.items()
            for name, content in ((f"{leaf}.crt", pair.cert_pem), (f"{leaf}.key", pair.key_pem))
        }


def renew(
    leaves: Sequence[Leaf],
    authorities: Mapping[Issuer, CertificateAuthority],
    files: Mapping[str, bytes],
    issuance: Issuance,
    *,
    now: datetime | None = None,
) -> Leaves:
    """Every leaf that there shall be: those in `files` that are still good, the others made anew."""
    now = now or datetime.now(UTC)
    pairs: dict[str, KeyPair] = {}
    renewed: dict[str, str] = {}
    for leaf in leaves:
        ca = authorities[leaf.issuer]
        found = files.get(f"{leaf.name}.crt", b""), files.get(f"{leaf.name}.key", b"")
        pair, reason = _examined(leaf, *found, ca.cert_pem)
        if pair is not None and reason is None and _renewal(pair, ca, issuance) <= now:
            reason = f"it ends on {pair.not_after:%Y-%m-%d}"
        if pair is None or reason is not None:
            pair = _issue(leaf, ca, issuance, now)
            renewed[leaf.name] = reason or "it was not there"
        pairs[leaf.name] = pair
    ends = [_renewal(pairs[leaf.name], authorities[leaf.issuer], issuance) for leaf in leaves]
    return Leaves(pairs, renewed, min(ends))


@lru_cache(maxsize=4096)  # asked in every reconcile, and to verify a signature takes a millisecond
def _examined(leaf: Leaf, cert_pem: bytes, key_pem: bytes, ca_pem: bytes) -> tuple[KeyPair | None, str | None]:
    """What is there, and what is wrong with it whatever the time; damage is no different from absence."""
    try:
        pair = load_key_pair(cert_pem, key_pem)
    except InvalidPEM:
        return None, None
    if not is_signed_by(cert_pem, ca_pem):
        return pair, "its authority has changed"
    if _subject(pair.certificate) != (leaf.common_name, frozenset(leaf.organizations)):
        return pair, "its subject has changed"
    if _names(pair.certificate) != _wanted_names(leaf):
        return pair, "its names have changed"
    return pair, None


def _renewal(pair: KeyPair, ca: CertificateAuthority, issuance: Issuance) -> datetime:
    """When a leaf is due: in the last two thirds of its life at the earliest, or it would be renewed without end.

    One that lasts as long as its authority is not due before: the next could not last longer.
    """
    if pair.not_after >= ca.not_after:
        return pair.not_after
    return pair.not_after - min(issuance.renew_before, (pair.not_after - pair.not_before) * 2 / 3)


def _issue(leaf: Leaf, ca: CertificateAuthority, issuance: Issuance, now: datetime) -> KeyPair:
    return ca.issue(
        leaf.common_name,
        organizations=leaf.organizations,
        dns_names=leaf.dns_names,
        ip_addresses=leaf.ip_addresses,
        usages=leaf.usages,
        validity=issuance.validity,
        algorithm=issuance.algorithm,
        now=now,
    )


def _subject(certificate: x509.Certificate) -> tuple[str, frozenset[str]]:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return str(names[0].value) if names else "", frozenset(str(group.value) for group in groups)


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return frozenset(names.get_values_for_type(x509.DNSName)) | addresses


def _wanted_names(leaf: Leaf) -> frozenset[str]:
    addresses = {str(ipaddress.ip_address(address)) for address in leaf.ip_addresses}
    return frozenset(leaf.dns_names) | addresses
