"""What signers sign, and the certificates that come of it."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kapstan.apiserver.authz.certificates.approval import automatic_approval
from kapstan.apiserver.authz.certificates.controller import is_outdated
from kapstan.apiserver.authz.certificates.request import InvalidRequest, SigningRequest
from kapstan.apiserver.authz.certificates.signers import Unacceptable, check, sign
from kapstan.apiserver.authz.interface import Decision
from kapstan.apiserver.request import Attributes
from kapstan.machinery.pki import is_signed_by, new_ca

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
DNS, IP = x509.DNSName("n1.example.com"), x509.IPAddress(ipaddress.ip_address("192.0.2.1"))
EMAIL, URI = x509.RFC822Name("a@example.com"), x509.UniformResourceIdentifier("spiffe://a")
CLIENT = ["digital signature", "client auth"]
SERVING = ["digital signature", "server auth"]


def pem(common_name: str, organizations: tuple[str, ...], names: tuple[x509.GeneralName, ...]) -> str:
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    data = builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(data).decode()


def request(
    signer: str,
    usages: list[str],
    *names: x509.GeneralName,
    common_name: str = "system:node:n1",
    organizations: tuple[str, ...] = ("system:nodes",),
    **spec: Any,
) -> SigningRequest:
    content = {
        "request": pem(common_name, organizations, names),
        "signerName": f"kubernetes.io/{signer}",
        "usages": usages,
    }
    return SigningRequest({"metadata": {"name": "r"}, "spec": content | spec})


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (request("kube-apiserver-client", CLIENT, common_name="alice", organizations=("devs",)), None),
        (request("kube-apiserver-client", [*CLIENT, "key encipherment"], DNS), None),
        (
            request("kube-apiserver-client", [*CLIENT, "server auth"]),
            "invalid usage for client certificate: server auth",
        ),
        (
            request("kube-apiserver-client", ["digital signature"]),
            "missing required usage for client certificate: client auth",
        ),
        (request("kube-apiserver-client-kubelet", CLIENT), None),
        (request("kube-apiserver-client-kubelet", [*CLIENT, "key encipherment"]), None),
        (
            request("kube-apiserver-client-kubelet", CLIENT, organizations=("system:nodes", "devs")),
            "subject organization is not system:nodes",
        ),
        (request("kube-apiserver-client-kubelet", CLIENT, DNS), "DNS subjectAltNames are not allowed"),
        (request("kube-apiserver-client-kubelet", CLIENT, IP), "IP subjectAltNames are not allowed"),
        (request("kube-apiserver-client-kubelet", CLIENT, EMAIL), "Email subjectAltNames are not allowed"),
        (request("kube-apiserver-client-kubelet", CLIENT, URI), "URI subjectAltNames are not allowed"),
        (
            request("kube-apiserver-client-kubelet", CLIENT, common_name="alice"),
            "subject common name does not begin with system:node:",
        ),
        (
            request("kube-apiserver-client-kubelet", SERVING),
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (request("kubelet-serving", SERVING, DNS, IP), None),
        (request("kubelet-serving", SERVING), "DNS or IP subjectAltName is required"),
        (request("kubelet-serving", SERVING, IP, EMAIL), "Email subjectAltNames are not allowed"),
        (
            request("kubelet-serving", CLIENT, IP),
            "usages did not match [digital signature key encipherment server auth]",
        ),
        (request("legacy-unknown", ["any"], URI, common_name="x"), None),
    ],
)
def test_each_signer_has_its_rules(asked: SigningRequest, complaint: str | None) -> None:
    if complaint is None:
        check(asked)
        return
    with pytest.raises(Unacceptable) as caught:
        check(asked)
    assert str(caught.value) == complaint


def test_the_certificate_says_what_was_asked_for() -> None:
    ca = new_ca("kubernetes", now=NOW - timedelta(days=1))
    data = sign(ca, request("kubelet-serving", [*SERVING, "key encipherment"], DNS, IP), NOW)
    certificate = x509.load_pem_x509_certificate(data)
    assert is_signed_by(data, ca.cert_pem)
    assert certificate.subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    extensions = certificate.extensions
    assert list(extensions.get_extension_for_class(x509.SubjectAlternativeName).value) == [DNS, IP]
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.digital_signature, usage.value.key_encipherment, usage.value.key_cert_sign) == (
        True,
        True,
        False,
    )
    extended = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH]
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert not constraints.value.ca


@pytest.mark.parametrize(
    ("seconds", "lifetime"),
    [
        (None, timedelta(days=365) - timedelta(minutes=5)),
        (600, timedelta(seconds=600)),
        (60, timedelta(minutes=10)),
        (8 * 3600, timedelta(hours=8) - timedelta(minutes=5)),
        (10**9, timedelta(days=365) - timedelta(minutes=5)),
    ],
)
def test_certificates_last_as_long_as_asked_within_a_year(seconds: int | None, lifetime: timedelta) -> None:
    asked = request("kube-apiserver-client", CLIENT, expirationSeconds=seconds)
    certificate = x509.load_pem_x509_certificate(sign(new_ca("kubernetes", now=NOW), asked, NOW))
    assert certificate.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert certificate.not_valid_after_utc == NOW + lifetime


def test_no_certificate_outlives_its_signer() -> None:
    ca = new_ca("kubernetes", now=NOW, validity=timedelta(days=1))
    certificate = x509.load_pem_x509_certificate(sign(ca, request("kube-apiserver-client", CLIENT), NOW))
    assert certificate.not_valid_after_utc == ca.not_after


@pytest.mark.parametrize("text", ["", "!", "aGVsbG8=", base64.b64encode(new_ca("x").cert_pem).decode()])
def test_what_is_no_request_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        SigningRequest({"metadata": {"name": "r"}, "spec": {"request": text}})


class Allowing:
    def __init__(self, *subresources: str) -> None:
        self._subresources = subresources

    def authorize(self, attributes: Attributes) -> Decision:
        return Decision(attributes.subresource in self._subresources)


@pytest.mark.parametrize(
    ("username", "allowed", "approved"),
    [
        ("system:node:n1", ("selfnodeclient",), "self kubelet client"),
        ("system:bootstrap:abcdef", ("selfnodeclient",), ""),
        ("system:bootstrap:abcdef", ("nodeclient",), "approving kubelet client"),
        ("system:node:n1", ("nodeclient",), "approving kubelet client"),
        ("system:node:n1", (), ""),
    ],
)
def test_kubelets_are_approved_if_rbac_lets_them(username: str, allowed: tuple[str, ...], approved: str) -> None:
    asked = request("kube-apiserver-client-kubelet", CLIENT, username=username)
    message = automatic_approval(asked, Allowing(*allowed))
    assert approved in message
    assert bool(message) is bool(approved)


def test_nothing_else_goes_without_saying() -> None:
    for asked in (request("kube-apiserver-client", CLIENT), request("kube-apiserver-client-kubelet", SERVING)):
        assert automatic_approval(asked, Allowing("nodeclient", "selfnodeclient")) == ""


def condition(kind: str, age: timedelta) -> dict[str, Any]:
    return {"type": kind, "status": "True", "lastUpdateTime": (NOW - age).isoformat()}


HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MOMENT = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("conditions", "issued", "created", "outdated"),
    [
        ([], False, DAY - MOMENT, False),
        ([], False, DAY + MOMENT, True),
        ([condition("Denied", HOUR + MOMENT)], False, DAY, True),
        ([condition("Denied", HOUR - MOMENT)], False, DAY * 9, False),
        ([condition("Failed", HOUR + MOMENT)], False, DAY, True),
        ([condition("Approved", HOUR + MOMENT)], True, DAY, True),
        ([condition("Approved", HOUR + MOMENT)], False, DAY, False),
        ([condition("Approved", DAY + MOMENT)], False, DAY, True),
    ],
)
def test_old_requests_are_cleaned_up(
    conditions: list[dict[str, Any]], issued: bool, created: timedelta, outdated: bool
) -> None:
    certificate = base64.b64encode(sign(new_ca("k", now=NOW), request("kube-apiserver-client", CLIENT), NOW)).decode()
    document = {
        "metadata": {"name": "r", "creationTimestamp": (NOW - created).isoformat()},
        "status": {"conditions": conditions, **({"certificate": certificate} if issued else {})},
    }
    assert is_outdated(document, NOW) is outdated
