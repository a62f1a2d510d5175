"""Node authorizer: a kubelet may use its own Node and lease, the pods bound to it, and what those pods refer to."""

from __future__ import annotations

from collections.abc import Callable

from kapstan.apiserver.authn.identity import NODES
from kapstan.apiserver.authz import bootstrap
from kapstan.apiserver.authz.interface import Decision, is_resource
from kapstan.apiserver.authz.podrefs import NodeReferences, Reference
from kapstan.apiserver.authz.rules import compile_rules
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec, fields
from kapstan.machinery.gvk import GroupResource

__all__ = ("NodeAuthorizer",)

_PREFIX = "system:node:"
_ALLOW = Decision(True)
_NO_OPINION = Decision(False)
_PERSISTENT_VOLUMES = GroupResource("", "persistentvolumes")
_VOLUME_ATTACHMENTS = GroupResource("storage.k8s.io", "volumeattachments")


class NodeAuthorizer:
    """Has an opinion on users `system:node:<name>` in the group `system:nodes` only."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._references = NodeReferences(storage)
        self._special: dict[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._service_account,
            ("coordination.k8s.io", "leases"): self._lease,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
        }

    @staticmethod
    def node_of(user: UserInfo) -> str | None:
        """The node that a user is; None if it is none."""
        if user.name.startswith(_PREFIX) and NODES in user.groups:
            return user.name.removeprefix(_PREFIX)
        return None

    def authorize(self, attributes: Attributes) -> Decision:
        node = self.node_of(attributes.user)
        if node is None:
            return _NO_OPINION
        if not node:
            return Decision(False, f'unknown node for user "{attributes.user.name}"')
        special = self._special.get((attributes.group, attributes.resource)) if is_resource(attributes) else None
        return special(node, attributes) if special else self._by_rules(attributes)

    def _by_rules(self, attributes: Attributes) -> Decision:
        rules = compile_rules(bootstrap.cluster_role_rules("system:node"))
        if is_resource(attributes):
            allowed = rules.allows_resource(
                attributes.verb, attributes.group, attributes.resource, attributes.subresource, attributes.name
            )
        else:
            allowed = rules.allows_path(attributes.verb, attributes.path)
        return _ALLOW if allowed else _NO_OPINION

    def _read(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in ("get", "list", "watch"):
            return Decision(False, "can only read resources of this type")
        if attributes.subresource:
            return Decision(False, "cannot read subresource")
        if not attributes.namespace:
            return Decision(False, "can only read namespaced object of this type")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return Decision(False, "can only get/update/patch this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return Decision(False, "can only get individual resources of this type")
        if attributes.subresource:
            return Decision(False, "cannot get subresource")
        return self._related(node, attributes)

    def _service_account(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return Decision(False, "can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return Decision(False, "can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _lease(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in ("get", "create", "update", "patch", "delete"):
            return Decision(False, "can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != "kube-node-lease":
            return Decision(False, 'can only access leases in the "kube-node-lease" system namespace')
        if attributes.verb != "create" and attributes.name != node:
            return Decision(False, "can only access node lease with the same name as the requesting node")
        return _ALLOW

    def _csi_node(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in ("get", "create", "update", "patch", "delete"):
            return Decision(False, "can only get, create, update, patch, or delete a CSINode")
        if attributes.subresource:
            return Decision(False, "cannot authorize CSINode subresources")
        if attributes.verb != "create" and attributes.name != node:
            return Decision(False, "can only access CSINode with the same name as the requesting node")
        return _ALLOW

    def _node(self, node: str, attributes: Attributes) -> Decision:
        match attributes.subresource, attributes.verb:
            case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
                return _ALLOW
            case "", "get" | "list" | "watch":
                if attributes.name == node:
                    return _ALLOW
                what = f"'{attributes.name}'" if attributes.name else "all nodes"
                return Decision(False, f"node '{node}' cannot read {what}, only its own Node object")
        return _NO_OPINION

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        match attributes.subresource, attributes.verb:
            case "", "get":
                return self._get(node, attributes)
            case "", "list" | "watch":
                if _selects(attributes.field_selector, "spec.nodeName", node):
                    return _ALLOW
                if attributes.name:
                    return self._related(node, attributes)
                return Decision(False, "can only list/watch pods with spec.nodeName field selector")
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return _ALLOW
        return _NO_OPINION

    def _related(self, node: str, attributes: Attributes) -> Decision:
        if not attributes.name:
            return Decision(False, "No Object name found")
        match attributes.resource:
            case "persistentvolumes":
                related = self._has_volume(node, attributes.name)
            case "volumeattachments":
                related = self._has_attachment(node, attributes.name)
            case resource:
                related = self._references.has(node, Reference(resource, attributes.namespace, attributes.name))
        return _ALLOW if related else Decision(False, f"no relationship found between node '{node}' and this object")

    def _has_volume(self, node: str, name: str) -> bool:
        record = self._storage.get(_PERSISTENT_VOLUMES, name)
        claim = codec.decode_any(record.value).get("spec", {}).get("claimRef") if record else None
        if not claim:
            return False
        return self._references.has(node, Reference("persistentvolumeclaims", claim["namespace"], claim["name"]))

    def _has_attachment(self, node: str, name: str) -> bool:
        record = self._storage.get(_VOLUME_ATTACHMENTS, name)
        return record is not None and codec.decode_any(record.value).get("spec", {}).get("nodeName") == node


def _selects(selector: str, field: str, value: str) -> bool:
    try:
        return fields.parse(selector).exact_match(field) == value
    except fields.InvalidSelector:
        return False
