"""Credentials of a logical cluster: its certificate authority, its service-account key, and what they vouch for.

They are kept in the cluster's storage, so that a cluster that survives a restart is still trusted after it. Server
certificates are made anew whenever they are needed.
"""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kapstan.machinery.pki import (
    CertificateAuthority,
    KeyPair,
    SigningKey,
    Usage,
    load_ca,
    new_ca,
    new_signing_key,
)

if TYPE_CHECKING:
    from kapstan.apiserver.storage.interface import Storage

__all__ = ("ADMIN", "ISSUER", "MASTERS", "Credentials", "kubeconfig")

ADMIN = "kubernetes-admin"
MASTERS = "system:masters"
ISSUER = "https://kubernetes.default.svc.cluster.local"

_CA, _CA_KEY = "ca.crt", "ca.key"
_SIGNING, _SIGNING_KEY = "sa.pub", "sa.key"
_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
)
_YEARS = timedelta(days=3650)


class Credentials:
    """The keys of one cluster. `issuer` is who vouches for the tokens of its service accounts."""

    issuer = ISSUER

    def __init__(self, ca: CertificateAuthority, signing_key: SigningKey) -> None:
        self.ca = ca
        self.signing_key = signing_key

    @classmethod
    async def of(cls, storage: Storage, *, persistent: bool = True) -> Credentials:
        """Those that the storage holds; new ones are made where there are none."""
        ca, ca_key = storage.setting(_CA), storage.setting(_CA_KEY)
        public, key = storage.setting(_SIGNING), storage.setting(_SIGNING_KEY)
        if ca and ca_key and public and key:
            return cls(load_ca(ca, ca_key), SigningKey(public, key))
        found = cls(new_ca("kubernetes"), new_signing_key())
        if persistent:
            await storage.set_setting(_CA, found.ca.cert_pem)
            await storage.set_setting(_CA_KEY, found.ca.key_pem)
            await storage.set_setting(_SIGNING, found.signing_key.public_pem)
            await storage.set_setting(_SIGNING_KEY, found.signing_key.key_pem)
        return found

    @property
    def client_authorities(self) -> bytes:
        """Whose client certificates are accepted."""
        return self.ca.cert_pem

    def serving(self, hosts: Iterable[str]) -> KeyPair:
        """A certificate for a server that is reached under these names and addresses."""
        names, addresses = list(_NAMES), ["127.0.0.1", "::1", "10.96.0.1"]
        for host in hosts:
            (addresses if _is_address(host) else names).append(host)
        return self.ca.issue(
            "kube-apiserver", dns_names=names, ip_addresses=addresses, usages=[Usage.SERVER], validity=_YEARS
        )

    def client(self, user: str, groups: Iterable[str] = ()) -> KeyPair:
        """A certificate for a client."""
        return self.ca.issue(user, organizations=groups, validity=_YEARS)


def kubeconfig(
    server: str, ca: bytes, client: KeyPair, *, cluster: str = "kapstan", user: str = ADMIN, namespace: str = ""
) -> dict[str, Any]:
    """A kubeconfig with one context, everything it needs inside."""
    context = {"cluster": cluster, "user": user} | ({"namespace": namespace} if namespace else {})
    name = f"{user}@{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _base64(ca)}}],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(client.cert_pem),
                    "client-key-data": _base64(client.key_pem),
                },
            }
        ],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
