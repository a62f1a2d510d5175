"""Aggregated ClusterRoles: their rules are the union of the rules of the roles that they select.

`reconcile` writes them. It is due for every aggregated role whenever any ClusterRole changes: which role selects which
is known only by looking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.authz.rules import rules_of
from kapstan.machinery import codec, labels
from kapstan.machinery.gvk import GroupVersionResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("CLUSTER_ROLES", "FIELD_MANAGER", "aggregated_rules", "is_aggregated", "reconcile")

CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
FIELD_MANAGER = "clusterrole-aggregation-controller"

_LISTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def is_aggregated(role: Mapping[str, Any]) -> bool:
    return role.get("aggregationRule") is not None


def aggregated_rules(role: Mapping[str, Any], roles: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rules that an aggregated ClusterRole should have, given all ClusterRoles of the cluster.

    Selector by selector, each one's roles by name; a rule that is there already is not repeated.
    InvalidSelector if the role's own selectors cannot be read.
    """
    name = role["metadata"]["name"]
    others = sorted((other for other in roles if other["metadata"]["name"] != name), key=_name)
    selectors = role["aggregationRule"].get("clusterRoleSelectors") or ()
    found: dict[tuple[tuple[str, ...], ...], dict[str, Any]] = {}
    for selector in map(labels.from_label_selector, selectors):
        for other in others:
            if selector.matches(other["metadata"].get("labels")):
                for rule in other.get("rules") or ():
                    found.setdefault(_identity(rule), rule)
    return list(found.values())


def _name(role: Mapping[str, Any]) -> str:
    name: str = role["metadata"]["name"]
    return name


def _identity(rule: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Equal for rules that mean the same text: an absent list is an empty one."""
    return tuple(tuple(rule.get(key) or ()) for key in _LISTS)


async def reconcile(cluster: LogicalCluster, name: str) -> None:
    """Give an aggregated ClusterRole the rules that it should have."""
    records = cluster.storage.list(CLUSTER_ROLES.group_resource)
    roles = [codec.decode_any(record.value) for record in records]
    role = next((one for one in roles if _name(one) == name), None)
    if role is None or not is_aggregated(role):
        return
    rules = aggregated_rules(role, roles)
    if rules_of({"rules": rules}) == rules_of(role):
        return
    await cluster.api.patch(
        CLUSTER_ROLES,
        name,
        "",
        {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": {"name": name}, "rules": rules},
        type="application/apply-patch+yaml",
        force=True,
        field_manager=FIELD_MANAGER,
    )
