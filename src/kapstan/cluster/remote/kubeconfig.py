"""The kubeconfig of a workload cluster: which Secret holds it, and what it may ask of us.

Whoever may write such a Secret shall not thereby make this process run programs or read its files.
"""

from __future__ import annotations

from kapstan.client.config import Config
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.errors import ConfigError

__all__ = ("BadKubeconfig", "config_of", "is_kubeconfig", "secret_name")

_SUFFIX = "-kubeconfig"
_KEY = "value"
_FILES = {
    "ca_file": "certificate-authority",
    "cert_file": "client-certificate",
    "key_file": "client-key",
    "token_file": "tokenFile",
}


class BadKubeconfig(ConfigError):
    """The kubeconfig of a workload cluster cannot be used; the text says why, never what it holds."""


def secret_name(cluster: str) -> str:
    return cluster + _SUFFIX


def is_kubeconfig(name: str) -> str:
    """The cluster whose kubeconfig a Secret of that name is; empty if it is none."""
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else ""


def config_of(secret: Secret) -> Config:
    """How to connect, as a Secret says."""
    value = secret.data.get(_KEY)
    if not value:
        raise BadKubeconfig(f"Secret {secret.key}: the key {_KEY} is missing or empty")
    try:
        config = Config.from_kubeconfig(value)
    except ConfigError as error:
        raise BadKubeconfig(f"Secret {secret.key}: {error}") from error
    if config.exec is not None:
        raise BadKubeconfig(f"Secret {secret.key}: a kubeconfig in a Secret cannot use exec; put a certificate into it")
    for field, name in _FILES.items():
        if getattr(config, field):
            raise BadKubeconfig(f"Secret {secret.key}: a kubeconfig in a Secret cannot name files; use {name}-data")
    return config
