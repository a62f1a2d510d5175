"""PKI: certificate authorities, certificates and service-account keys, as PEM in memory.

Everything here is a pure function of its arguments, the clock and the random source; nothing reads or writes files.
Values are immutable, and a private key never shows in a `repr`, so none can reach a log by accident.

    ca = new_ca("kubernetes")
    server = ca.issue("kube-apiserver", dns_names=["localhost"], ip_addresses=["127.0.0.1"], usages=[Usage.SERVER])
    admin = ca.issue("kubernetes-admin", organizations=["system:masters"])

Keys are ECDSA P-256 unless asked otherwise: making one takes 0.04 ms, an RSA-2048 key takes about 50 ms.
Certificates begin five minutes before they are made, as kubeadm's do: a node whose clock lags would otherwise refuse
a certificate that was made for it a moment ago. A leaf never begins before its CA nor outlives it, since verification
would fail there anyway and the date in the leaf would promise something untrue.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from functools import cached_property
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = (
    "CertificateAuthority",
    "InvalidPEM",
    "KeyAlgorithm",
    "KeyPair",
    "SigningKey",
    "Usage",
    "discovery_hashes",
    "is_signed_by",
    "load_ca",
    "load_certificates",
    "load_key_pair",
    "load_signing_key",
    "new_ca",
    "new_signing_key",
)

BACKDATE = timedelta(minutes=5)
CA_VALIDITY = timedelta(days=3650)
LEAF_VALIDITY = timedelta(days=365)

_NAME_LENGTH = 64

_PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class KeyAlgorithm(StrEnum):
    """How a private key is made; the values are those of kubeadm's `encryptionAlgorithm`."""

    ECDSA_P256 = "ECDSA-P256"
    ECDSA_P384 = "ECDSA-P384"
    RSA_2048 = "RSA-2048"
    RSA_3072 = "RSA-3072"
    RSA_4096 = "RSA-4096"


class Usage(Enum):
    """What a leaf certificate is for."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class InvalidPEM(ValueError):
    """PEM that is not what it should be. The message names what was expected, never what a key contains."""


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM: what a `tls.crt` and a `tls.key` hold."""

    cert_pem: bytes
    key_pem: bytes = field(repr=False)

    @cached_property
    def certificate(self) -> x509.Certificate:
        return load_certificates(self.cert_pem)[0]

    @property
    def not_before(self) -> datetime:
        return self.certificate.not_valid_before_utc

    @property
    def not_after(self) -> datetime:
        return self.certificate.not_valid_after_utc

    def expires_within(self, period: timedelta, *, now: datetime | None = None) -> bool:
        """Whether the certificate ends before `period` is over: the question that renewal asks."""
        return self.not_after <= (now or datetime.now(UTC)) + period


@dataclass(frozen=True)
class CertificateAuthority(KeyPair):
    """A key pair that signs others."""

    @cached_property
    def _key(self) -> _PrivateKey:
        return _load_private_key(self.key_pem, "CA key")

    @property
    def discovery_hash(self) -> str:
        """What `kubeadm join --discovery-token-ca-cert-hash` takes."""
        return _spki_hash(self.certificate)

    def issue(
        self,
        common_name: str,
        *,
        organizations: Iterable[str] = (),
        dns_names: Iterable[str] = (),
        ip_addresses: Iterable[str] = (),
        usages: Sequence[Usage] = (Usage.CLIENT,),
        validity: timedelta = LEAF_VALIDITY,
        algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256,
        now: datetime | None = None,
    ) -> KeyPair:
        """A new key, and a certificate for it that this CA signs.

        Kubernetes reads `common_name` as the user and `organizations` as the groups of a client.
        """
        key = _new_private_key(algorithm)
        start, end = _validity(now, validity)
        builder = (
            _builder(key.public_key(), _name(common_name, organizations))
            .issuer_name(self.certificate.subject)
            .not_valid_before(max(start, self.not_before))
            .not_valid_after(min(end, self.not_after))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(encipherment=isinstance(key, rsa.RSAPrivateKey)), critical=True)
            .add_extension(_authority_key_identifier(self.certificate), critical=False)
        )
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage.value for usage in usages]), critical=False)
        if names := _alternative_names(dns_names, ip_addresses):
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return KeyPair(_cert_pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key))


@dataclass(frozen=True)
class SigningKey:
    """A bare key pair, without certificate: what signs and checks service-account tokens."""

    public_pem: bytes
    key_pem: bytes = field(repr=False)


def new_ca(
    common_name: str,
    *,
    organizations: Iterable[str] = (),
    validity: timedelta = CA_VALIDITY,
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256,
    now: datetime | None = None,
) -> CertificateAuthority:
    """A new self-signed certificate authority."""
    key = _new_private_key(algorithm)
    start, end = _validity(now, validity)
    name = _name(common_name, organizations)
    builder = (
        _builder(key.public_key(), name)
        .issuer_name(name)
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(encipherment=True, signs_certificates=True), critical=True)
    )
    return CertificateAuthority(_cert_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def new_signing_key(algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256) -> SigningKey:
    """A new key pair for service-account tokens."""
    key = _new_private_key(algorithm)
    return SigningKey(_public_pem(key.public_key()), _key_pem(key))


def load_signing_key(key_pem: bytes) -> SigningKey:
    """The key pair for service-account tokens of which somebody else made the private key."""
    return SigningKey(_public_pem(_load_private_key(key_pem, "service-account key").public_key()), key_pem)


def load_key_pair(cert_pem: bytes, key_pem: bytes) -> KeyPair:
    """A key pair that somebody else made, checked: both parse, and the key belongs to the certificate."""
    pair = KeyPair(cert_pem, key_pem)
    public = _load_private_key(key_pem, "private key").public_key()
    if _public_pem(public) != _public_pem(pair.certificate.public_key()):
        raise InvalidPEM(f"the private key does not belong to the certificate {_subject(pair.certificate)}")
    return pair


def load_ca(cert_pem: bytes, key_pem: bytes) -> CertificateAuthority:
    """A certificate authority that somebody else made, checked like a key pair, and for being one."""
    pair = load_key_pair(cert_pem, key_pem)
    try:
        constraints = pair.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        constraints = None
    if constraints is None or not constraints.ca:
        raise InvalidPEM(f"the certificate {_subject(pair.certificate)} is not a CA: it may not sign others")
    return CertificateAuthority(cert_pem, key_pem)


def load_certificates(pem: bytes) -> list[x509.Certificate]:
    """Every certificate of a bundle, in order; there is at least one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise InvalidPEM("not a PEM certificate: expected -----BEGIN CERTIFICATE----- and base64 after it") from error


def discovery_hashes(bundle: bytes) -> list[str]:
    """The discovery hash of each CA in a bundle: while a CA is rotated there is more than one."""
    return [_spki_hash(certificate) for certificate in load_certificates(bundle)]


def is_signed_by(cert_pem: bytes, ca_pem: bytes) -> bool:
    """Whether the first certificate of `cert_pem` was signed by a CA of the bundle `ca_pem`."""
    leaf = load_certificates(cert_pem)[0]
    return any(_issued(ca, leaf) for ca in load_certificates(ca_pem))


def _issued(ca: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _new_private_key(algorithm: KeyAlgorithm) -> _PrivateKey:
    match algorithm:
        case KeyAlgorithm.ECDSA_P256:
            return ec.generate_private_key(ec.SECP256R1())
        case KeyAlgorithm.ECDSA_P384:
            return ec.generate_private_key(ec.SECP384R1())
        case _:
            return rsa.generate_private_key(public_exponent=65537, key_size=int(algorithm.removeprefix("RSA-")))


def _load_private_key(pem: bytes, what: str) -> _PrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidPEM(f"the {what} is not an unencrypted PEM private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise InvalidPEM(f"the {what} is neither an ECDSA nor an RSA key")
    return key


def _builder(public_key: _PublicKey, subject: x509.Name) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _validity(now: datetime | None, validity: timedelta) -> tuple[datetime, datetime]:
    start = (now or datetime.now(UTC)) - BACKDATE
    return start, start + validity


def _name(common_name: str, organizations: Iterable[str]) -> x509.Name:
    for part in (common_name, *(organizations := tuple(organizations))):
        if not 1 <= len(part) <= _NAME_LENGTH:
            raise ValueError(
                f"a certificate's subject cannot hold {part!r}: X.509 allows 1 to {_NAME_LENGTH} characters, "
                f"it has {len(part)}; longer host names belong into dns_names only"
            )
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative_names(dns_names: Iterable[str], ip_addresses: Iterable[str]) -> list[x509.GeneralName]:
    names = [x509.DNSName(name) for name in dict.fromkeys(dns_names)]
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in dict.fromkeys(ip_addresses)]
    return [*names, *addresses]


def _key_usage(*, encipherment: bool, signs_certificates: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=encipherment,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _authority_key_identifier(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The CA's own identifier where it has one: a CA made elsewhere may not have hashed its key as we would."""
    try:
        identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        key = ca.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
            raise InvalidPEM("the CA's key is neither an ECDSA nor an RSA key") from None
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _spki_hash(certificate: x509.Certificate) -> str:
    spki = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return f"sha256:{hashlib.sha256(spki).hexdigest()}"


def _subject(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or "without a subject"


def _cert_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: _PrivateKey) -> bytes:
    """`EC PRIVATE KEY` or `RSA PRIVATE KEY`, as kubeadm writes them: older readers know no PKCS #8."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _public_pem(key: CertificatePublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
