"""Kubeconfigs: how a client of a control plane is told where it is and who it is."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from kapstan.machinery.pki import KeyPair

__all__ = ("kubeconfig", "to_yaml")


def kubeconfig(
    server: str, ca_pem: bytes, client: KeyPair, *, cluster: str = "kubernetes", user: str = "kubernetes-admin"
) -> dict[str, Any]:
    """A kubeconfig with one context, all certificates inside; it holds a private key."""
    context = f"{user}@{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _data(ca_pem)}}],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _data(client.cert_pem), "client-key-data": _data(client.key_pem)},
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
    }


def to_yaml(config: dict[str, Any]) -> bytes:
    return yaml.safe_dump(config, sort_keys=False, encoding="utf-8")


def _data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
