"""Serving: how controllers find the kind that a stored object belongs to, and write to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.request import LOOPBACK, UserInfo

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.kinds import ServedKind
    from kapstan.apiserver.registry.api import API
    from kapstan.machinery.gvk import GroupResource

__all__ = ("MANAGER", "ServedKinds", "controller_api")

Object = dict[str, Any]

MANAGER = "kube-controller-manager"


def controller_api(cluster: LogicalCluster, account: str, manager: str = MANAGER) -> API:
    """The cluster in the name of a controller, as the service account that it would have."""
    return cluster.api.as_user(_user(account), manager)


@cache
def _user(account: str) -> UserInfo:
    """The same for all clusters, of which there may be thousands."""
    return UserInfo(f"system:serviceaccount:kube-system:{account}", groups=LOOPBACK.groups)


class ServedKinds:
    """The kinds of a cluster by the collections in which they are stored; worked out again when kinds change."""

    def __init__(self, cluster: LogicalCluster) -> None:
        self._kinds = cluster.kinds
        self._generation = -1
        self._by_storage: Mapping[GroupResource, ServedKind] = {}

    def __getitem__(self, collection: GroupResource) -> ServedKind | None:
        return self._current().get(collection)

    def namespaced(self) -> list[ServedKind]:
        """Everything that can be in a namespace and be deleted."""
        return [kind for kind in self._current().values() if kind.namespaced and "delete" in kind.verbs]

    def _current(self) -> Mapping[GroupResource, ServedKind]:
        if self._kinds.generation != self._generation:
            found: dict[GroupResource, ServedKind] = {}
            for kind in self._kinds:
                if "list" in kind.verbs and (kind.stored_as_served or kind.storage.group_resource not in found):
                    found[kind.storage.group_resource] = kind
            self._by_storage, self._generation = found, self._kinds.generation
        return self._by_storage
