"""Certificates: everything that a control plane proves itself with, under the file names that kubeadm gives it.

Authorities come from outside (a product keeps them in Secrets) or are made here; leaves are issued from them.
`files` is what a folder, or a Secret that is mounted as one, has to hold; flags refer to it by name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from kapstan.components.files import write_private
from kapstan.machinery.pki import (
    LEAF_VALIDITY,
    CertificateAuthority,
    InvalidPEM,
    KeyPair,
    SigningKey,
    Usage,
    is_signed_by,
    load_ca,
    load_key_pair,
    new_ca,
    new_signing_key,
)

__all__ = ("Authorities", "Certificates", "Names", "issue_certificates", "load_or_issue", "new_authorities")

_RENEW_BEFORE = timedelta(days=30)
_NAMES_FILE = "names"


@dataclass(frozen=True)
class Authorities:
    """Who vouches for whom in a cluster."""

    cluster: CertificateAuthority
    front_proxy: CertificateAuthority
    etcd: CertificateAuthority
    service_account: SigningKey


@dataclass(frozen=True)
class Names:
    """What an API server is called by its clients, outside and inside of the cluster."""

    dns_names: tuple[str, ...] = ("localhost",)
    ip_addresses: tuple[str, ...] = ("127.0.0.1",)
    service_cidr: str = "10.96.0.0/12"
    cluster_domain: str = "cluster.local"

    def all_dns_names(self) -> tuple[str, ...]:
        service = "kubernetes.default.svc"
        return ("kubernetes", "kubernetes.default", service, f"{service}.{self.cluster_domain}", *self.dns_names)

    def all_ip_addresses(self) -> tuple[str, ...]:
        """The first address of the service network is that of the Service `kubernetes`."""
        network = ipaddress.ip_network(self.service_cidr.split(",")[0])
        return (str(network[1]), *self.ip_addresses)


@dataclass(frozen=True)
class Certificates:
    """The authorities of a control plane and the leaves that they signed, by kubeadm's name of the file."""

    authorities: Authorities
    leaves: Mapping[str, KeyPair] = field(repr=False)

    def __getitem__(self, name: str) -> KeyPair:
        return self.leaves[name]

    @property
    def files(self) -> Mapping[str, bytes]:
        """Content by name below the certificates folder."""
        signing = self.authorities.service_account
        content = {"sa.pub": signing.public_pem, "sa.key": signing.key_pem}
        for name, pair in {**_authority_pairs(self.authorities), **self.leaves}.items():
            content |= {f"{name}.crt": pair.cert_pem, f"{name}.key": pair.key_pem}
        return content

    def write(self, folder: Path) -> None:
        for name, content in self.files.items():
            write_private(folder / name, content)


def new_authorities() -> Authorities:
    return Authorities(new_ca("kubernetes"), new_ca("front-proxy-ca"), new_ca("etcd-ca"), new_signing_key())


def issue_certificates(
    authorities: Authorities, names: Names | None = None, *, validity: timedelta = LEAF_VALIDITY
) -> Certificates:
    """New leaves for a control plane that its clients reach by `names`."""
    names = names or Names()
    cluster, etcd = authorities.cluster, authorities.etcd
    server = cluster.issue(
        "kube-apiserver",
        dns_names=names.all_dns_names(),
        ip_addresses=names.all_ip_addresses(),
        usages=(Usage.SERVER,),
        validity=validity,
    )
    leaves = {
        "apiserver": server,
        "admin": cluster.issue("kubernetes-admin", organizations=["system:masters"], validity=validity),
        "apiserver-kubelet-client": cluster.issue("kube-apiserver-kubelet-client", validity=validity),
        "apiserver-etcd-client": etcd.issue("kube-apiserver-etcd-client", validity=validity),
        "front-proxy-client": authorities.front_proxy.issue("front-proxy-client", validity=validity),
        "controller-manager": _local_server(cluster, "system:kube-controller-manager", validity),
        "scheduler": _local_server(cluster, "system:kube-scheduler", validity),
        "etcd/server": _local_server(etcd, "etcd", validity),
        "etcd/peer": _local_server(etcd, "etcd", validity),
    }
    return Certificates(authorities, leaves)


def load_or_issue(folder: Path, names: Names) -> Certificates:
    """What a folder holds, completed: authorities are kept for good, leaves until they are nearly over.

    Leaves are also issued anew when the names have changed that the API server is reached by.
    """
    authorities = _load_authorities(folder) or new_authorities()
    named = repr(names).encode()
    fresh = issue_certificates(authorities, names)
    unchanged = (folder / _NAMES_FILE).is_file() and (folder / _NAMES_FILE).read_bytes() == named
    kept = {name: _load_leaf(folder, name, authorities) for name in fresh.leaves} if unchanged else {}
    leaves = {name: kept.get(name) or leaf for name, leaf in fresh.leaves.items()}
    certificates = Certificates(authorities, leaves)
    certificates.write(folder)
    write_private(folder / _NAMES_FILE, named)
    return certificates


def _local_server(ca: CertificateAuthority, name: str, validity: timedelta) -> KeyPair:
    """For a component that serves on this machine and is a client too: of the API server, or of other members."""
    usages = (Usage.SERVER, Usage.CLIENT)
    return ca.issue(name, dns_names=["localhost"], ip_addresses=["127.0.0.1", "::1"], usages=usages, validity=validity)


def _authority_pairs(authorities: Authorities) -> dict[str, CertificateAuthority]:
    return {"ca": authorities.cluster, "front-proxy-ca": authorities.front_proxy, "etcd/ca": authorities.etcd}


def _load_authorities(folder: Path) -> Authorities | None:
    if not (folder / "ca.crt").is_file():
        return None
    cluster, front_proxy, etcd = (load_ca(*_read_pair(folder, name)) for name in ("ca", "front-proxy-ca", "etcd/ca"))
    signing = SigningKey((folder / "sa.pub").read_bytes(), (folder / "sa.key").read_bytes())
    return Authorities(cluster, front_proxy, etcd, signing)


def _load_leaf(folder: Path, name: str, authorities: Authorities) -> KeyPair | None:
    """A leaf that is still good, or None."""
    try:
        pair = load_key_pair(*_read_pair(folder, name))
    except (OSError, InvalidPEM):
        return None
    issuers = b"".join(ca.cert_pem for ca in _authority_pairs(authorities).values())
    return pair if is_signed_by(pair.cert_pem, issuers) and not pair.expires_within(_RENEW_BEFORE) else None


def _read_pair(folder: Path, name: str) -> tuple[bytes, bytes]:
    return (folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes()
