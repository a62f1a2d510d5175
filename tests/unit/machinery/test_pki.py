"""Certificates do what TLS and Kubernetes ask of them; TLS itself (OpenSSL) is the judge wherever it can be."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from kapstan.machinery.pki import (
    BACKDATE,
    CertificateAuthority,
    InvalidPEM,
    KeyAlgorithm,
    KeyPair,
    Usage,
    discovery_hashes,
    is_signed_by,
    load_ca,
    load_certificates,
    load_key_pair,
    new_ca,
    new_signing_key,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

# Made with `openssl req -x509`; the hash with `openssl x509 -pubkey | openssl pkey -pubin -outform der | sha256sum`.
FOREIGN_CA = b"""\
-----BEGIN CERTIFICATE-----
MIIBejCCAR+gAwIBAgIUW2qGU/UfQgIdJdKWwtqbJ3aECC4wCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGdmVjdG9yMCAXDTI2MTExNTIxMjUyOVoYDzIxMjYxMDIyMjEy
NTI5WjARMQ8wDQYDVQQDDAZ2ZWN0b3IwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AASjcgdorhL7iiiYLFFqgzJEKsDmNCKq5vneTJy594nwq4I0AMLexTrBxg9A6jy3
PeH2nzNeTEa26raTrME/SlnGo1MwUTAdBgNVHQ4EFgQU4+twJOSm+CV1XbVK1vTY
QVQptdYwHwYDVR0jBBgwFoAU4+twJOSm+CV1XbVK1vTYQVQptdYwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA2FdlzxFGaNXYabiJnED7D2yUDwQ9
37YJ51x0OYBi3WkCIQDa5XJUbbacMwN2h3F7rQJiLQRpqbpq9J93YXUpl1qquw==
-----END CERTIFICATE-----
"""
FOREIGN_HASH = "sha256:839eb3f0c7a336ae9f98802584022def53a2fe3d9f06ce3c66297915ab38fb42"


def handshake(
    ca: CertificateAuthority, server: KeyPair, client: KeyPair, folder: Path, *, host: str = "kubernetes.default.svc"
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """A mutual TLS handshake in memory, with OpenSSL's strict reading of RFC 5280; both ends when it succeeded."""
    contexts = []
    for name, protocol, pair in (("s", ssl.PROTOCOL_TLS_SERVER, server), ("c", ssl.PROTOCOL_TLS_CLIENT, client)):
        context = ssl.SSLContext(protocol)
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_verify_locations(cadata=ca.cert_pem.decode())
        (folder / name).write_bytes(pair.cert_pem + pair.key_pem)
        context.load_cert_chain(folder / name)
        contexts.append(context)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        contexts[0].wrap_bio(to_server, to_client, server_side=True),
        contexts[1].wrap_bio(to_client, to_server, server_hostname=host),
    )
    for _ in range(6):
        for end in reversed(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends


@pytest.mark.parametrize("algorithm", [KeyAlgorithm.ECDSA_P256, KeyAlgorithm.ECDSA_P384, KeyAlgorithm.RSA_2048])
def test_both_ends_of_a_connection_accept_each_other(algorithm: KeyAlgorithm, tmp_path: Path) -> None:
    ca = new_ca("kubernetes", algorithm=algorithm)
    server = ca.issue("apiserver", dns_names=["kubernetes.default.svc"], usages=[Usage.SERVER], algorithm=algorithm)
    client = ca.issue("alice", organizations=["system:masters", "ops"], algorithm=algorithm)

    served, connected = handshake(ca, server, client, tmp_path)

    assert connected.version() == "TLSv1.3"
    peer = served.getpeercert()
    assert peer is not None
    subject = [pair for part in peer["subject"] for pair in part]
    assert subject == [("organizationName", "system:masters"), ("organizationName", "ops"), ("commonName", "alice")]


@pytest.mark.parametrize(
    ("server_usage", "client_usage"),
    [
        pytest.param(Usage.CLIENT, Usage.CLIENT, id="a client certificate does not serve"),
        pytest.param(Usage.SERVER, Usage.SERVER, id="a server certificate is no client"),
    ],
)
def test_a_certificate_is_good_for_its_usage_only(server_usage: Usage, client_usage: Usage, tmp_path: Path) -> None:
    ca = new_ca("kubernetes")
    server = ca.issue("s", dns_names=["kubernetes.default.svc"], usages=[server_usage])
    client = ca.issue("c", usages=[client_usage])

    with pytest.raises(ssl.SSLError):
        handshake(ca, server, client, tmp_path)


def test_a_server_is_known_by_its_names_only(tmp_path: Path) -> None:
    ca = new_ca("kubernetes")
    server = ca.issue("s", dns_names=["localhost"], ip_addresses=["127.0.0.1", "::1"], usages=[Usage.SERVER])
    client = ca.issue("c")

    for host in ("localhost", "127.0.0.1", "::1"):
        handshake(ca, server, client, tmp_path, host=host)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(ca, server, client, tmp_path, host="example.com")


def test_a_stranger_of_the_same_name_is_not_trusted(tmp_path: Path) -> None:
    ca, stranger = new_ca("kubernetes"), new_ca("kubernetes")
    server = stranger.issue("s", dns_names=["kubernetes.default.svc"], usages=[Usage.SERVER])

    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(ca, server, ca.issue("c"), tmp_path)
    assert is_signed_by(server.cert_pem, stranger.cert_pem)
    assert not is_signed_by(server.cert_pem, ca.cert_pem)
    assert is_signed_by(server.cert_pem, ca.cert_pem + stranger.cert_pem)


def test_validity_begins_five_minutes_early_for_clocks_that_lag() -> None:
    ca = new_ca("kubernetes", validity=timedelta(days=10), now=NOW)

    assert ca.not_before == NOW - BACKDATE
    assert ca.not_after == NOW - BACKDATE + timedelta(days=10)


def test_a_leaf_stays_within_the_life_of_its_ca() -> None:
    ca = new_ca("kubernetes", validity=timedelta(days=10), now=NOW)

    early = ca.issue("early", validity=timedelta(days=400), now=NOW - timedelta(days=1))

    assert early.not_before == ca.not_before
    assert early.not_after == ca.not_after


def test_renewal_is_due_when_the_end_is_near() -> None:
    pair = new_ca("kubernetes", now=NOW).issue("c", validity=timedelta(days=30), now=NOW)

    assert not pair.expires_within(timedelta(days=29), now=NOW)
    assert pair.expires_within(timedelta(days=30), now=NOW)
    assert pair.expires_within(timedelta(0), now=NOW + timedelta(days=31))


def test_a_ca_survives_the_round_trip_through_its_pem() -> None:
    made = new_ca("kubernetes")

    loaded = load_ca(made.cert_pem, made.key_pem)

    assert loaded == made
    assert is_signed_by(loaded.issue("c").cert_pem, made.cert_pem)


def test_keys_are_written_in_the_form_that_kubeadm_writes() -> None:
    assert new_ca("ec").key_pem.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert new_ca("rsa", algorithm=KeyAlgorithm.RSA_2048).key_pem.startswith(b"-----BEGIN RSA PRIVATE KEY-----")


def test_the_discovery_hash_is_that_of_openssl() -> None:
    assert discovery_hashes(FOREIGN_CA) == [FOREIGN_HASH]


def test_a_bundle_has_a_hash_for_each_ca() -> None:
    one, two = new_ca("one"), new_ca("two")

    assert discovery_hashes(one.cert_pem + two.cert_pem) == [one.discovery_hash, two.discovery_hash]
    assert one.discovery_hash != two.discovery_hash


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [(KeyAlgorithm.ECDSA_P256, ec.EllipticCurvePublicKey), (KeyAlgorithm.RSA_2048, rsa.RSAPublicKey)],
)
def test_a_signing_key_has_both_halves(algorithm: KeyAlgorithm, kind: type) -> None:
    key = new_signing_key(algorithm)

    public = serialization.load_pem_public_key(key.public_pem)
    private = serialization.load_pem_private_key(key.key_pem, password=None)
    assert isinstance(public, kind)
    assert public == private.public_key()


def test_private_keys_do_not_show() -> None:
    for value in (new_ca("kubernetes"), new_ca("kubernetes").issue("c"), new_signing_key()):
        assert "PRIVATE" not in repr(value)


def test_a_key_of_another_certificate_is_refused() -> None:
    with pytest.raises(InvalidPEM, match="does not belong to the certificate CN=one"):
        load_key_pair(new_ca("one").cert_pem, new_ca("two").key_pem)


def test_a_leaf_is_not_taken_for_a_ca() -> None:
    leaf = new_ca("kubernetes").issue("leaf")

    with pytest.raises(InvalidPEM, match="CN=leaf is not a CA"):
        load_ca(leaf.cert_pem, leaf.key_pem)


def test_what_is_no_pem_is_refused_without_showing_it() -> None:
    ca = new_ca("kubernetes")
    with pytest.raises(InvalidPEM, match="not a PEM certificate"):
        load_certificates(b"hunter2")
    with pytest.raises(InvalidPEM, match="not an unencrypted PEM private key") as caught:
        load_key_pair(ca.cert_pem, b"hunter2")
    assert "hunter2" not in str(caught.value)


def test_a_key_that_kubernetes_cannot_use_is_refused() -> None:
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(InvalidPEM, match="neither an ECDSA nor an RSA key"):
        load_key_pair(new_ca("kubernetes").cert_pem, other)


@pytest.mark.parametrize("name", ["", "system:node:" + "n" * 63])
def test_a_name_that_no_subject_can_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"X\.509 allows 1 to 64 characters"):
        new_ca("kubernetes").issue(name)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'localhost' does not appear to be an IPv4 or IPv6 address"):
        new_ca("kubernetes").issue("s", ip_addresses=["localhost"])


def test_a_leaf_names_its_ca_by_the_identifier_that_the_ca_has() -> None:
    """A CA made elsewhere may carry any identifier; strict verifiers reject a chain where the two differ."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "foreign")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier(b"chosen elsewhere"), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key_pem = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    leaf = load_ca(certificate.public_bytes(pem), key_pem).issue("leaf", now=NOW)

    authority = leaf.certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert authority.key_identifier == b"chosen elsewhere"
