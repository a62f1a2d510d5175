"""RBAC in few words: roles and bindings under kubeadm's names."""

from __future__ import annotations

from kapstan.k8s.rbac_v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from kapstan.machinery.meta import ObjectMeta

__all__ = (
    "NAMES",
    "account",
    "cluster_role",
    "cluster_role_binding",
    "group",
    "may",
    "role",
    "role_binding",
    "user",
)

# Whoever joins with kubeadm, or upgrades with it later, looks for these names.
NAMES = "kubeadm"

_GROUP = "rbac.authorization.k8s.io"


def may(verbs: str, *resources: str, group: str = "", names: tuple[str, ...] = ()) -> PolicyRule:
    """A rule: `may("list watch", "pods", "services")`."""
    return PolicyRule(verbs=verbs.split(), resources=list(resources), api_groups=[group], resource_names=list(names))


def user(name: str) -> Subject:
    return Subject(kind="User", name=name, api_group=_GROUP)


def group(name: str) -> Subject:
    return Subject(kind="Group", name=name, api_group=_GROUP)


def account(name: str, namespace: str) -> Subject:
    return Subject(kind="ServiceAccount", name=name, namespace=namespace)


def role(name: str, namespace: str, *rules: PolicyRule) -> Role:
    return Role(metadata=ObjectMeta(name=name, namespace=namespace), rules=list(rules))


def role_binding(name: str, namespace: str, *subjects: Subject) -> RoleBinding:
    """Binds the role that has the same name."""
    return RoleBinding(
        metadata=ObjectMeta(name=name, namespace=namespace),
        role_ref=RoleRef(api_group=_GROUP, kind="Role", name=name),
        subjects=list(subjects),
    )


def cluster_role(name: str, *rules: PolicyRule) -> ClusterRole:
    return ClusterRole(metadata=ObjectMeta(name=name), rules=list(rules))


def cluster_role_binding(name: str, role: str, *subjects: Subject) -> ClusterRoleBinding:
    return ClusterRoleBinding(
        metadata=ObjectMeta(name=name),
        role_ref=RoleRef(api_group=_GROUP, kind="ClusterRole", name=role),
        subjects=list(subjects),
    )
