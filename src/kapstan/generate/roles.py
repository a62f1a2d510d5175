"""Roles that do not depend on a reconciler: those of a kind's users, of the election and of the metrics server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from kapstan.generate.rules import policy_rules
from kapstan.machinery.model import ResourceInfo
from kapstan.runtime.declaration import Rule

__all__ = ("USER_ROLES", "leader_election_role", "metrics_auth_role", "metrics_reader_role", "user_role")

Document: TypeAlias = dict[str, Any]

# What each role of a kind's users may do with its objects.
USER_ROLES: Mapping[str, tuple[str, ...]] = {
    "admin": ("*",),
    "editor": ("create", "delete", "get", "list", "patch", "update", "watch"),
    "viewer": ("get", "list", "watch"),
}


def user_role(info: ResourceInfo, role: str, *, prefix: str = "", labels: Mapping[str, str] | None = None) -> Document:
    """The ClusterRole of a kind's administrators, editors or viewers; an operator itself needs none of them."""
    rules = [Rule(groups=(info.group,), resources=(info.plural,), verbs=USER_ROLES[role])]
    if "status" in info.subresources:
        rules.append(Rule(groups=(info.group,), resources=(f"{info.plural}/status",), verbs=("get",)))
    return _role(f"{prefix}{info.kind.lower()}-{role}-role", rules, labels=labels)


def leader_election_role(*, labels: Mapping[str, str] | None = None) -> Document:
    """What an election needs, in the manager's own namespace: one Lease, and events about who leads."""
    rules = [
        Rule(groups=("coordination.k8s.io",), resources=("leases",), verbs=("create", "get", "patch", "watch")),
        Rule(groups=("events.k8s.io",), resources=("events",), verbs=("create", "patch")),
    ]
    return _role("leader-election-role", rules, kind="Role", labels=labels)


def metrics_auth_role() -> Document:
    """What a metrics server needs to ask who reads, and whether they may."""
    rules = [
        Rule(groups=("authentication.k8s.io",), resources=("tokenreviews",), verbs=("create",)),
        Rule(groups=("authorization.k8s.io",), resources=("subjectaccessreviews",), verbs=("create",)),
    ]
    return _role("metrics-auth-role", rules)


def metrics_reader_role() -> Document:
    """What a scraper needs to read the metrics."""
    return _role("metrics-reader", [Rule(urls=("/metrics",), verbs=("get",))])


def _role(
    name: str, rules: Iterable[Rule], *, kind: str = "ClusterRole", labels: Mapping[str, str] | None = None
) -> Document:
    metadata: Document = {"name": name, "labels": dict(labels)} if labels else {"name": name}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": policy_rules(rules),
    }
