"""The signers that Kubernetes brings along: what each of them signs, and the certificate that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from kapstan.apiserver.authz.certificates.request import SigningRequest
from kapstan.machinery.pki import CertificateAuthority

__all__ = (
    "KUBELET_CLIENT",
    "KUBELET_SERVING",
    "KUBE_APISERVER_CLIENT",
    "LEGACY_UNKNOWN",
    "USAGES",
    "Unacceptable",
    "check",
    "is_known",
    "sign",
)

KUBE_APISERVER_CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY_UNKNOWN = "kubernetes.io/legacy-unknown"

LONGEST = timedelta(days=365)
_SHORTEST = timedelta(minutes=10)
_BACKDATE = timedelta(minutes=5)
_SHORT = timedelta(hours=8)

_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED_USAGES = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": ObjectIdentifier("2.16.840.1.113730.4.1"),
}
USAGES = frozenset(_KEY_USAGES) | frozenset(_EXTENDED_USAGES)


class Unacceptable(ValueError):
    """Not what this signer signs; the text is Kubernetes'."""


def is_known(signer: str) -> bool:
    return signer in _CHECKS


def check(request: SigningRequest) -> None:
    """Unacceptable unless the request is one for its signer."""
    _CHECKS[request.signer](request)


def _check_client(request: SigningRequest) -> None:
    for usage in sorted(request.usages):
        if usage not in ("digital signature", "key encipherment", "client auth"):
            raise Unacceptable(f"invalid usage for client certificate: {usage}")
    if "client auth" not in request.usages:
        raise Unacceptable("missing required usage for client certificate: client auth")


def _check_kubelet_client(request: SigningRequest) -> None:
    _check_node_group(request)
    for kind, what in (
        (x509.DNSName, "DNS"),
        (x509.RFC822Name, "Email"),
        (x509.IPAddress, "IP"),
        (x509.UniformResourceIdentifier, "URI"),
    ):
        if request.has_name_of(kind):
            raise Unacceptable(f"{what} subjectAltNames are not allowed")
    _check_node_name(request)
    _check_node_usages(request, "client auth")


def _check_kubelet_serving(request: SigningRequest) -> None:
    _check_node_group(request)
    if not request.has_name_of(x509.DNSName) and not request.has_name_of(x509.IPAddress):
        raise Unacceptable("DNS or IP subjectAltName is required")
    if request.has_name_of(x509.RFC822Name):
        raise Unacceptable("Email subjectAltNames are not allowed")
    if request.has_name_of(x509.UniformResourceIdentifier):
        raise Unacceptable("URI subjectAltNames are not allowed")
    _check_node_usages(request, "server auth")
    _check_node_name(request)


def _check_node_group(request: SigningRequest) -> None:
    if request.organizations != ["system:nodes"]:
        raise Unacceptable("subject organization is not system:nodes")


def _check_node_name(request: SigningRequest) -> None:
    if not request.common_name.startswith("system:node:"):
        raise Unacceptable("subject common name does not begin with system:node:")


def _check_node_usages(request: SigningRequest, role: str) -> None:
    """RSA keys also encipher; others cannot."""
    wanted = {"digital signature", "key encipherment", role}
    if request.usages not in (wanted, wanted - {"key encipherment"}):
        raise Unacceptable(f"usages did not match [{' '.join(sorted(wanted))}]")


def _accept(request: SigningRequest) -> None:
    """Whatever somebody has approved."""


_CHECKS: dict[str, Callable[[SigningRequest], None]] = {
    KUBE_APISERVER_CLIENT: _check_client,
    KUBELET_CLIENT: _check_kubelet_client,
    KUBELET_SERVING: _check_kubelet_serving,
    LEGACY_UNKNOWN: _accept,
}


def sign(ca: CertificateAuthority, request: SigningRequest, now: datetime) -> bytes:
    """The certificate, PEM. What it says beyond usages and time is the request's."""
    start, end = _validity(request.expiration_seconds, now)
    subject = request.x509
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject.subject)
        .issuer_name(ca.certificate.subject)
        .public_key(subject.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(min(end, ca.not_after))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    for extension, critical in _extensions(ca, request):
        builder = builder.add_extension(extension, critical=critical)
    key = serialization.load_pem_private_key(ca.key_pem, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _validity(seconds: int | None, now: datetime) -> tuple[datetime, datetime]:
    """Begins a little early, for clocks that differ; short ones lose nothing by it at their end."""
    wanted = LONGEST if seconds is None else min(max(timedelta(seconds=seconds), _SHORTEST), LONGEST)
    end = now + wanted if wanted < _SHORT else now + wanted - _BACKDATE
    return now - _BACKDATE, end


def _extensions(ca: CertificateAuthority, request: SigningRequest) -> list[tuple[x509.ExtensionType, bool]]:
    found: list[tuple[x509.ExtensionType, bool]] = []
    names = {name for usage, name in _KEY_USAGES.items() if usage in request.usages}
    if names:
        found.append((x509.KeyUsage(**{name: name in names for name in set(_KEY_USAGES.values())}), True))
    extended = {oid for usage, oid in _EXTENDED_USAGES.items() if usage in request.usages}
    if extended:
        found.append((x509.ExtendedKeyUsage(sorted(extended, key=lambda oid: oid.dotted_string)), False))
    if request.alternative_names:
        unnamed = not list(request.x509.subject)
        found.append((x509.SubjectAlternativeName(request.alternative_names), unnamed))
    try:
        identifier = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return found
    found.append((x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False))
    return found
