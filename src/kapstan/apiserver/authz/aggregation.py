"""Aggregated ClusterRoles: their rules are the union of the rules of the roles that they select.

Which role selects which is known only by looking, so every change of a ClusterRole has all aggregated ones looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.authz.rules import rules_of
from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery import codec, labels
from kapstan.machinery.gvk import GroupVersionResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("CLUSTER_ROLES", "FIELD_MANAGER", "RoleAggregation", "aggregated_rules", "is_aggregated")

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


@lru_cache(maxsize=512)
def _decoded(value: bytes) -> Mapping[str, Any]:
    """Shared, so not to be changed: the same bootstrap roles are in every logical cluster."""
    role: dict[str, Any] = codec.decode_any(value)
    return role


class RoleAggregation(CollectionController):
    """The controller of one cluster: every aggregated role is due whenever any ClusterRole changes."""

    account = FIELD_MANAGER
    collection = CLUSTER_ROLES.group_resource

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self._aggregated: set[str] = set()

    def start(self) -> None:
        super().start()
        self._all_due()

    async def reconcile(self, name: str) -> None:
        """Give an aggregated ClusterRole the rules that it should have."""
        records = self._storage.list(self.collection)
        roles = [_decoded(record.value) for record in records]
        role = next((one for one in roles if _name(one) == name), None)
        if role is None or not is_aggregated(role):
            return
        rules = aggregated_rules(role, roles)
        if rules_of({"rules": rules}) == rules_of(role):
            return
        await self._api.patch(
            CLUSTER_ROLES,
            name,
            "",
            deepcopy(
                {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": {"name": name}, "rules": rules}
            ),
            type="application/apply-patch+yaml",
            force=True,
            field_manager=FIELD_MANAGER,
        )

    def observe(self, event: Event) -> None:
        super().observe(event)
        if event.type == "DELETED":
            self._aggregated.discard(event.record.name)
        self._all_due()

    def notice(self, record: Record) -> None:
        """Without decoding: who is noted by mistake is found out when it is its turn."""
        if b'"aggregationRule"' in record.value:
            self._aggregated.add(record.name)
        else:
            self._aggregated.discard(record.name)

    def _all_due(self) -> None:
        for name in self._aggregated:
            self._queue.add(name)
