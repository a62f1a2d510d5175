"""A folder of certificates stays as it is for as long as it is good."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from kapstan.components.certificates import Names, issue_certificates, load_or_issue, new_authorities
from kapstan.machinery.pki import KeyPair, is_signed_by


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def subject(pair: KeyPair) -> str:
    return pair.certificate.subject.rfc4514_string()


def test_files_have_the_names_that_kubeadm_gives_them() -> None:
    names = set(issue_certificates(new_authorities()).files)

    assert names >= {
        "ca.crt",
        "ca.key",
        "apiserver.crt",
        "apiserver-kubelet-client.key",
        "apiserver-etcd-client.crt",
        "front-proxy-ca.crt",
        "front-proxy-client.key",
        "sa.pub",
        "sa.key",
        "etcd/ca.crt",
        "etcd/server.crt",
        "etcd/peer.key",
    }


def test_each_leaf_is_signed_by_the_authority_that_its_verifiers_trust() -> None:
    certificates = issue_certificates(new_authorities())
    authorities = certificates.authorities

    for name, leaf in certificates.leaves.items():
        authority = authorities.cluster
        if "etcd" in name:
            authority = authorities.etcd
        elif "front-proxy" in name:
            authority = authorities.front_proxy
        assert is_signed_by(leaf.cert_pem, authority.cert_pem), name


def test_components_are_the_users_that_kubernetes_has_roles_for() -> None:
    certificates = issue_certificates(new_authorities())

    assert subject(certificates["admin"]) == "CN=kubernetes-admin,O=system:masters"
    assert subject(certificates["controller-manager"]) == "CN=system:kube-controller-manager"
    assert subject(certificates["scheduler"]) == "CN=system:kube-scheduler"


def test_the_api_server_is_known_inside_and_outside() -> None:
    names = Names(dns_names=("api.example.com",), ip_addresses=("192.0.2.7",), service_cidr="10.0.0.0/24,fd00::/112")
    leaf = issue_certificates(new_authorities(), names)["apiserver"]
    known = leaf.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert known.get_values_for_type(x509.DNSName) == [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "api.example.com",
    ]
    assert [str(address) for address in known.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "192.0.2.7"]


def test_everything_is_readable_by_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    load_or_issue(folder, Names())

    assert {file.stat().st_mode & 0o777 for file in folder.rglob("*") if file.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, folder / "etcd")} == {0o700}


def test_a_second_time_nothing_changes(tmp_path: Path) -> None:
    first = load_or_issue(tmp_path, Names())
    before = content(tmp_path)

    second = load_or_issue(tmp_path, Names())

    assert second == first
    assert content(tmp_path) == before


@pytest.mark.parametrize("damage", [b"", None], ids=["emptied", "removed"])
def test_a_leaf_that_is_lost_is_issued_again(tmp_path: Path, damage: bytes | None) -> None:
    first = load_or_issue(tmp_path, Names())
    if damage is None:
        (tmp_path / "admin.key").unlink()
    else:
        (tmp_path / "admin.key").write_bytes(damage)

    second = load_or_issue(tmp_path, Names())

    assert second["admin"] != first["admin"]
    assert second["apiserver"] == first["apiserver"]
    assert is_signed_by(second["admin"].cert_pem, first.authorities.cluster.cert_pem)


def test_a_leaf_that_is_nearly_over_is_issued_again(tmp_path: Path) -> None:
    load_or_issue(tmp_path, Names())
    first = load_or_issue(tmp_path, Names())
    issue_certificates(first.authorities, validity=timedelta(days=20)).write(tmp_path)

    second = load_or_issue(tmp_path, Names())

    assert not any(leaf.expires_within(timedelta(days=300)) for leaf in second.leaves.values())
    assert second.authorities == first.authorities


def test_new_names_get_new_leaves_from_the_same_authorities(tmp_path: Path) -> None:
    first = load_or_issue(tmp_path, Names())

    second = load_or_issue(tmp_path, Names(dns_names=("api.example.com",)))

    assert second["apiserver"] != first["apiserver"]
    assert second.authorities == first.authorities
