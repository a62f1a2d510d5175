"""ClusterAuthorizer: the authorizers of a logical cluster in order, the first that allows decides."""

from __future__ import annotations

from kapstan.apiserver.authn.identity import MASTERS
from kapstan.apiserver.authz.interface import Decision
from kapstan.apiserver.authz.node import NodeAuthorizer
from kapstan.apiserver.authz.rbac import RBAC
from kapstan.apiserver.authz.rules import PolicyRule
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.apiserver.storage.interface import Storage

__all__ = ("ClusterAuthorizer",)

_MASTER = Decision(True)


class ClusterAuthorizer:
    """`system:masters` may do everything; then the Node authorizer, then RBAC."""

    def __init__(self, storage: Storage) -> None:
        self.rbac = RBAC(storage)
        self._node = NodeAuthorizer(storage)

    def authorize(self, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return _MASTER
        by_node = self._node.authorize(attributes)
        if by_node.allowed:
            return by_node
        by_roles = self.rbac.authorize(attributes)
        if by_roles.allowed or not by_node.reason:
            return by_roles
        return Decision(False, "\n".join(filter(None, (by_node.reason, by_roles.reason))))

    def rules_for(self, user: UserInfo, namespace: str) -> tuple[list[PolicyRule], str, bool]:
        """The rules of a user in a namespace, what could not be looked up, and whether that may not be all."""
        rules, error = self.rbac.rules_for(user, namespace)
        if self._node.node_of(user) is None:
            return rules, error, False
        unsupported = "node authorizer does not support user rule resolution"
        return rules, f"[{unsupported}, {error}]" if error else unsupported, True
