"""RBAC: decides by Roles, ClusterRoles and their bindings.

Bindings are indexed by whom they mean when the first question comes, and kept current by storage events from then on; a
cluster that only its masters use never pays for it. What a user may do in a namespace is put together once and
remembered until a role or binding changes. Events come before the writer's answer: who was just given a right has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from kapstan.apiserver.authn.identity import ServiceAccount
from kapstan.apiserver.authz.interface import Decision, is_resource
from kapstan.apiserver.authz.rules import CompiledRules, PolicyRule, Rules, compile_rules
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.apiserver.storage.interface import Event, Record, Storage
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource

__all__ = (
    "CLUSTER_ROLES",
    "CLUSTER_ROLE_BINDINGS",
    "GROUP",
    "RBAC",
    "ROLES",
    "ROLE_BINDINGS",
    "RoleRef",
    "Subject",
)

GROUP = "rbac.authorization.k8s.io"
ROLES = GroupResource(GROUP, "roles")
ROLE_BINDINGS = GroupResource(GROUP, "rolebindings")
CLUSTER_ROLES = GroupResource(GROUP, "clusterroles")
CLUSTER_ROLE_BINDINGS = GroupResource(GROUP, "clusterrolebindings")

_REMEMBERED = 4096


class Subject(Struct, frozen=True, rename="camel"):
    """Whom a binding means."""

    kind: str = ""
    name: str = ""
    namespace: str = ""

    def identity(self, binding_namespace: str) -> tuple[str, str] | None:
        """The kind (User or Group) and name by which a request's user is matched; None matches nobody."""
        if self.kind in ("User", "Group"):
            return self.kind, self.name
        namespace = self.namespace or binding_namespace
        if self.kind != "ServiceAccount" or not namespace:
            return None
        return "User", ServiceAccount(namespace, self.name).username

    def describe(self, binding_namespace: str) -> str:
        name = self.name
        if self.kind == "ServiceAccount":
            name = f"{name}/{self.namespace or binding_namespace}"
        return f"{self.kind} {quote(name)}"


class RoleRef(Struct, frozen=True, rename="camel"):
    """Which role a binding grants."""

    kind: str = ""
    name: str = ""
    api_group: str = ""

    def not_found(self) -> str:
        if self.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {quote(self.kind)}"
        return f"{self.kind.lower()}.{GROUP} {quote(self.name)} not found"


class _Role(Struct, frozen=True, rename="camel"):
    rules: tuple[PolicyRule, ...] = ()


class _Binding(Struct, frozen=True, rename="camel"):
    subjects: tuple[Subject, ...] = ()
    role_ref: RoleRef = field(default_factory=RoleRef)


class _Bound(NamedTuple):
    """A binding as one of its subjects sees it."""

    namespace: str
    name: str
    role: RoleRef
    subject: Subject

    def __str__(self) -> str:
        binding = f"RoleBinding {quote(f'{self.name}/{self.namespace}')}"
        if not self.namespace:
            binding = f"ClusterRoleBinding {quote(self.name)}"
        return f"{binding} of {self.role.kind} {quote(self.role.name)} to {self.subject.describe(self.namespace)}"


class _Grants(NamedTuple):
    """What one user may do in one namespace: each role with the decision that it leads to."""

    allow: tuple[tuple[CompiledRules, Decision], ...]
    deny: Decision


class RBAC:
    """The authorizer and the rule resolver of one logical cluster."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._bindings: _Bindings | None = None
        self._grants: dict[tuple[str, tuple[str, ...], str], _Grants] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        user = attributes.user
        key = (user.name, user.groups, attributes.namespace)
        grants = self._grants.get(key) or self._remember(key, user)
        if is_resource(attributes):
            verb, group, resource = attributes.verb, attributes.group, attributes.resource
            for rules, decision in grants.allow:
                if rules.allows_resource(verb, group, resource, attributes.subresource, attributes.name):
                    return decision
        else:
            for rules, decision in grants.allow:
                if rules.allows_path(attributes.verb, attributes.path):
                    return decision
        return grants.deny

    def rules_for(self, user: UserInfo, namespace: str) -> tuple[list[PolicyRule], str]:
        """All rules that apply to a user in a namespace, and what could not be looked up."""
        rules: list[PolicyRule] = []
        errors: list[str] = []
        for bound in self._current().of(user, namespace):
            found = self.role_rules(bound.role, bound.namespace)
            if found is None:
                errors.append(bound.role.not_found())
            else:
                rules.extend(found)
        return rules, _aggregate(errors)

    def role_rules(self, role: RoleRef, namespace: str) -> Rules | None:
        """The rules of the role that a binding in that namespace refers to; None if there is no such role."""
        record = None
        if role.kind == "ClusterRole":
            record = self._storage.get(CLUSTER_ROLES, role.name)
        elif role.kind == "Role":
            record = self._storage.get(ROLES, f"{namespace}/{role.name}")
        return None if record is None else codec.decode(record.value, _Role).rules

    def _current(self) -> _Bindings:
        if self._bindings is None:
            self._bindings = bindings = _Bindings()
            for kind in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
                for record in self._storage.list(kind):
                    bindings.put(record)
                self._storage.observe(self._binding_changed, kind)
            for kind in (CLUSTER_ROLES, ROLES):
                self._storage.observe(self._role_changed, kind)
        return self._bindings

    def _binding_changed(self, event: Event) -> None:
        assert self._bindings is not None
        self._grants.clear()
        if event.type == "DELETED":
            self._bindings.remove(event.record)
        else:
            self._bindings.put(event.record)

    def _role_changed(self, event: Event) -> None:
        self._grants.clear()

    def _remember(self, key: tuple[str, tuple[str, ...], str], user: UserInfo) -> _Grants:
        allow: list[tuple[CompiledRules, Decision]] = []
        errors: list[str] = []
        for bound in self._current().of(user, key[2]):
            rules = self.role_rules(bound.role, bound.namespace)
            if rules is None:
                errors.append(bound.role.not_found())
            elif rules:
                allow.append((compile_rules(rules), Decision(True, f"RBAC: allowed by {bound}")))
        if len(self._grants) >= _REMEMBERED:
            self._grants.clear()
        reason = f"RBAC: {_aggregate(errors)}" if errors else ""
        grants = self._grants[key] = _Grants(tuple(allow), Decision(False, reason))
        return grants


class _Bindings:
    """Bindings by scope (a namespace, or "" for the cluster) and whom they mean."""

    def __init__(self) -> None:
        self._subjects: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._bound: dict[tuple[str, tuple[str, str]], dict[str, _Bound]] = {}

    def of(self, user: UserInfo, namespace: str) -> Iterator[_Bound]:
        """The bindings that mean a user: the cluster's first, then the namespace's, each by name."""
        identities = [("User", user.name), *(("Group", group) for group in user.groups)]
        for scope in ("", namespace) if namespace else ("",):
            found: dict[str, _Bound] = {}
            for identity in identities:
                for name, bound in self._bound.get((scope, identity), {}).items():
                    found.setdefault(name, bound)
            for _, bound in sorted(found.items()):
                yield bound

    def put(self, record: Record) -> None:
        self.remove(record)
        namespace, name = record.namespace, record.name
        binding = codec.decode(record.value, _Binding)
        identities: list[tuple[str, str]] = []
        for subject in binding.subjects:
            identity = subject.identity(namespace)
            if identity is not None:
                identities.append(identity)
                bound = self._bound.setdefault((namespace, identity), {})
                bound.setdefault(name, _Bound(namespace, name, binding.role_ref, subject))
        self._subjects[namespace, name] = tuple(identities)

    def remove(self, record: Record) -> None:
        namespace, name = record.namespace, record.name
        for identity in self._subjects.pop((namespace, name), ()):
            bound = self._bound.get((namespace, identity))
            if bound is not None:
                bound.pop(name, None)
                if not bound:
                    del self._bound[namespace, identity]


def _aggregate(errors: Iterable[str]) -> str:
    """Each message once; several in brackets."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
