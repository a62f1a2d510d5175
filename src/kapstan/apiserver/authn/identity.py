"""The names that Kubernetes gives to users and groups, and the identities that follow from them."""

from __future__ import annotations

from typing import NamedTuple

from kapstan.machinery.names import dns1123_subdomain_errors, name_is_dns_label, name_is_dns_subdomain

__all__ = (
    "ANONYMOUS",
    "AUTHENTICATED",
    "BOOTSTRAPPERS",
    "CREDENTIAL_ID",
    "MASTERS",
    "NODES",
    "NODE_NAME",
    "NODE_UID",
    "POD_NAME",
    "POD_UID",
    "UNAUTHENTICATED",
    "ServiceAccount",
    "node_name",
)

ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"
NODES = "system:nodes"
BOOTSTRAPPERS = "system:bootstrappers"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"

# Keys of a user's `extra`.
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"

_SERVICE_ACCOUNT = "system:serviceaccount:"
_SERVICE_ACCOUNTS = "system:serviceaccounts"
_NODE = "system:node:"


class ServiceAccount(NamedTuple):
    """A service account as a user."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, username: str) -> ServiceAccount | None:
        """The service account that goes by that user name, if it is one's."""
        if not username.startswith(_SERVICE_ACCOUNT):
            return None
        namespace, colon, name = username.removeprefix(_SERVICE_ACCOUNT).partition(":")
        if not colon or name_is_dns_label(namespace, False) or name_is_dns_subdomain(name, False):
            return None
        return cls(namespace, name)

    @property
    def username(self) -> str:
        return f"{_SERVICE_ACCOUNT}{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        return (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{self.namespace}")


def node_name(username: str) -> str | None:
    """The node that goes by that user name, if it is one's."""
    if not username.startswith(_NODE):
        return None
    name = username.removeprefix(_NODE)
    return None if dns1123_subdomain_errors(name) else name
