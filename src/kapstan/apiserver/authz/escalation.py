"""Escalation check: nobody grants rights that he does not hold.

It runs as the last mutating step of admission, which is where kube-apiserver has it: after webhooks had their say and
before the object is validated.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.authn.identity import MASTERS
from kapstan.apiserver.authn.interface import quoted
from kapstan.apiserver.authz.authorizer import ClusterAuthorizer
from kapstan.apiserver.authz.interface import forbidden_object
from kapstan.apiserver.authz.rbac import CLUSTER_ROLES, GROUP, ROLES, RoleRef
from kapstan.apiserver.authz.rules import FULL_AUTHORITY, PolicyRule, compact, rules_of, uncovered
from kapstan.apiserver.registry import errors
from kapstan.apiserver.request import Attributes
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource

__all__ = ("EscalationCheck",)

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "selfLink")


class EscalationCheck(Plugin):
    """Refuses roles with rights, and bindings to roles with rights, that their writer does not hold."""

    def __init__(self, authorizer: ClusterAuthorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: AdmissionAttributes) -> bool:
        group, _, resource = attributes.kind.gvr
        return group == GROUP and resource in _ROLES + _BINDINGS and attributes.operation in ("CREATE", "UPDATE")

    async def admit(self, attributes: AdmissionAttributes) -> None:
        written, old = attributes.object, attributes.old
        assert written is not None
        if MASTERS in attributes.user.groups:
            return
        if old is not None and _only_collected_fields_differ(written, old):
            return
        if attributes.kind.gvr.resource in _ROLES:
            self._check_role(attributes, written, old)
        else:
            self._check_binding(attributes, written)

    def _check_role(self, attributes: AdmissionAttributes, role: dict[str, Any], old: dict[str, Any] | None) -> None:
        resource = attributes.kind.gvr.group_resource
        named = "" if attributes.request.verb == "create" else attributes.request.name
        if self._allows(attributes, "escalate", resource, named):
            return
        name = role["metadata"].get("name", "")
        if complaint := self._complaint(attributes, rules_of(role)):
            raise forbidden_object(resource, name, complaint)
        aggregates = _aggregates(role) or (old is not None and _aggregates(old))
        if aggregates and self._complaint(attributes, FULL_AUTHORITY):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden_object(resource, name, why)

    def _check_binding(self, attributes: AdmissionAttributes, binding: dict[str, Any]) -> None:
        role = codec.convert(binding.get("roleRef") or {}, RoleRef)
        referred = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}.get(role.kind)
        if referred and self._allows(attributes, "bind", referred, role.name):
            return
        rules = self._authorizer.rbac.role_rules(role, attributes.namespace)
        if referred is None:
            raise errors.unclassified(f"unsupported role reference kind: {quote(role.kind)}")
        if rules is None:
            # Under the binding's name, strange as that is: Kubernetes answers so.
            raise errors.not_found(attributes.kind.gvr.group_resource, role.name)
        if complaint := self._complaint(attributes, rules):
            resource = attributes.kind.gvr.group_resource
            raise forbidden_object(resource, binding["metadata"].get("name", ""), complaint)

    def _allows(self, attributes: AdmissionAttributes, verb: str, resource: GroupResource, name: str) -> bool:
        asked = Attributes(
            user=attributes.user,
            verb=verb,
            group=resource.group,
            version="*",
            resource=resource.resource,
            namespace=attributes.namespace,
            name=name,
        )
        return self._authorizer.authorize(asked).allowed

    def _complaint(self, attributes: AdmissionAttributes, rules: Iterable[PolicyRule]) -> str:
        """What the writer lacks; "" if he holds it all."""
        user = attributes.user
        owned, error = self._authorizer.rbac.rules_for(user, attributes.namespace)
        missing = uncovered(owned, rules)
        if not missing:
            return ""
        shown = "\n".join(sorted(set(map(str, compact(missing)))))
        who = f"user {quote(user.name)} (groups={quoted(user.groups)})"
        complaint = f"{who} is attempting to grant RBAC permissions not currently held:\n{shown}"
        return f"{complaint}; resolution errors: [{error}]" if error else complaint


def _aggregates(role: dict[str, Any]) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collected_fields_differ(written: dict[str, Any], old: dict[str, Any]) -> bool:
    """Garbage collection touches these fields, and may do so whatever the role grants."""
    copies = [deepcopy(written), deepcopy(old)]
    for copy in copies:
        for field in _COLLECTED:
            copy["metadata"].pop(field, None)
    return copies[0] == copies[1]
