"""NamespaceController: a namespace that is being deleted is emptied, pods first, and let go when nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.controllers.controller import Controller
from kapstan.apiserver.controllers.owners import metadata_of
from kapstan.apiserver.controllers.serving import ServedKinds
from kapstan.apiserver.request import DeleteOptions
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.errors import APIError, NotFound
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.kinds import ServedKind

__all__ = ("NamespaceController",)

Object = dict[str, Any]

_NAMESPACES = GroupResource("", "namespaces")
_PODS = GroupResource("", "pods")
_KUBERNETES = "kubernetes"
# What each condition says when all is well; its type says what is wrong otherwise.
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class _Remains:
    """What one attempt to empty a namespace left."""

    def __init__(self) -> None:
        self.counts: Counter[GroupResource] = Counter()
        self.finalizers: Counter[str] = Counter()
        self.errors: list[str] = []

    def problems(self) -> dict[str, tuple[str, str]]:
        """The conditions that are true, with reason and message."""
        found: dict[str, tuple[str, str]] = {}
        if self.errors:
            text = ", ".join(sorted(self.errors))
            message = f"Failed to delete all resource types, {len(self.errors)} remaining: {text}"
            found["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
        if self.counts:
            parts = _listed(
                f"{kind.resource}.{kind.group} has {count} resource instances" for kind, count in self.counts.items()
            )
            found["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {parts}")
        if self.finalizers:
            parts = _listed(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {parts}"
            found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return found


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(sorted(parts))


class NamespaceController(Controller[str]):
    """Ends the namespaces of one cluster."""

    account = "namespace-controller"

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self._kinds = ServedKinds(cluster)
        self._terminating: set[str] = set()
        self.follow(self._observe)

    def start(self) -> None:
        """Go on with what was begun before us."""
        for record in self._storage.list(_NAMESPACES):
            if b'"deletionTimestamp"' in record.value:
                self._add(record.key)

    def _observe(self, event: Event) -> None:
        record = event.record
        if record.kind == _NAMESPACES:
            if event.type == "DELETED":
                self._terminating.discard(record.key)
            elif b'"deletionTimestamp"' in record.value:
                self._add(record.key)
        elif self._terminating and event.type == "DELETED" and record.namespace in self._terminating:
            self._queue.add(record.namespace)

    def _add(self, name: str) -> None:
        self._terminating.add(name)
        self._queue.add(name)

    async def reconcile(self, name: str) -> None:
        record = self._storage.get(_NAMESPACES, name)
        if record is None:
            return
        namespace: Object = msgspec.json.decode(record.value)
        finalizers = namespace["spec"].get("finalizers") or []
        if not namespace["metadata"].get("deletionTimestamp") or _KUBERNETES not in finalizers:
            self._terminating.discard(name)
            return
        remains = await self._empty(name)
        namespace = await self._report(namespace, remains)
        if remains.errors:
            raise RuntimeError(f"content of namespace {name} cannot be deleted: {remains.errors[0]}")
        if not remains.counts:
            namespace["spec"]["finalizers"] = [one for one in finalizers if one != _KUBERNETES]
            await self._api.update(namespace, subresource="finalize")

    async def _empty(self, name: str) -> _Remains:
        """Ask for the deletion of everything; other kinds wait for the last pod, which may still need them."""
        remains = _Remains()
        kinds = self._kinds.namespaced()
        for kind in kinds:
            if kind.storage.group_resource == _PODS:
                await self._delete_all(kind, name, remains)
        if not remains.counts:
            for kind in kinds:
                await self._delete_all(kind, name, remains)
        return remains

    async def _delete_all(self, kind: ServedKind, namespace: str, remains: _Remains) -> None:
        collection, prefix = kind.storage.group_resource, kind.storage.prefix(namespace)
        options = DeleteOptions(propagation_policy="Background")
        for record in self._storage.list(collection, prefix):
            if b'"deletionTimestamp"' in record.value and metadata_of(record).get("deletionTimestamp"):
                continue
            try:
                await self._api.delete(kind, record.name, namespace, options=options)
            except NotFound:
                continue
            except APIError as error:
                remains.errors.append(str(error))
        left = self._storage.list(collection, prefix)
        if left:
            remains.counts[kind.gvr.group_resource] = len(left)
            for record in left:
                remains.finalizers.update(metadata_of(record).get("finalizers") or ())

    async def _report(self, namespace: Object, remains: _Remains) -> Object:
        """Conditions say what the end of the namespace waits for."""
        status = namespace.setdefault("status", {})
        conditions = _conditions(status.get("conditions") or [], remains.problems())
        if conditions == status.get("conditions"):
            return namespace
        status["conditions"] = conditions
        return await self._api.update(namespace, subresource="status")


def _conditions(before: list[Object], problems: dict[str, tuple[str, str]]) -> list[Object]:
    known = {condition["type"]: condition for condition in before}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = [condition for condition in before if condition["type"] not in _FINE]
    for type, fine in _FINE.items():
        status = "True" if type in problems else "False"
        reason, message = problems.get(type, fine)
        old = known.get(type) or {}
        time = old.get("lastTransitionTime") if old.get("status") == status else now
        found.append({"type": type, "status": status, "lastTransitionTime": time, "reason": reason, "message": message})
    return found
