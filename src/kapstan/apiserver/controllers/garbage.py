"""GarbageCollector: what belonged to somebody who is gone goes, too; or stays as an orphan, if that was wanted.

An object is looked at when it appears with owners, when an owner goes, and when it is being deleted with one of the two
finalizers that say what shall become of its dependents. Nothing is decided from memory: the storage is asked each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kapstan.apiserver.controllers.controller import Controller
from kapstan.apiserver.controllers.owners import (
    FOREGROUND,
    ORPHAN,
    OwnerState,
    is_deleting_dependents,
    metadata_of,
    owner_state,
)
from kapstan.apiserver.controllers.serving import ServedKinds
from kapstan.apiserver.request import DeleteOptions, Preconditions
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.kinds import ServedKind

__all__ = ("GarbageCollector",)

Object = dict[str, Any]

_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_EVENTS = GroupResource("", "events")


class _Item(NamedTuple):
    """One object, as long as it is this one and not another of its name."""

    collection: GroupResource
    key: str
    uid: str


class GarbageCollector(Controller[_Item]):
    """The collector of one cluster."""

    account = "generic-garbage-collector"

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self._kinds = ServedKinds(cluster)
        self._waiting: dict[str, _Item] = {}  # owners that wait for dependents, by uid
        self._unresolved: set[_Item] = set()  # dependents of kinds that are not served now
        self.follow(self._observe)

    def start(self) -> None:
        """Look at what was there before us."""
        for collection in list(self._storage.kinds()):
            for record in self._storage.list(collection):
                if record.owner_uids or b'"deletionTimestamp"' in record.value:
                    self._note(record)

    # What happens -----------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        record = event.record
        if event.type == "DELETED":
            self._waiting.pop(record.uid, None)
            for dependent in self._storage.dependents(record.uid):
                self._queue.add(_item(dependent))
            self._tell_owners(record.owner_uids)
        elif self._may_matter(event):
            self._note(record)
        if event.previous is not None and event.previous.owner_uids and event.type == "MODIFIED":
            self._tell_owners(event.previous.owner_uids)
        if record.kind == _DEFINITIONS and self._unresolved:
            for item in self._unresolved:
                self._queue.add(item)
            self._unresolved.clear()

    def _may_matter(self, event: Event) -> bool:
        """Whether an object may have to go, or holds up its own deletion.

        One whose owners were there when it was last looked at need not be looked at again before one of them goes:
        nodes renew their leases for ever.
        """
        record, previous = event.record, event.previous
        if b'"deletionTimestamp"' in record.value:
            return True
        if previous is not None and previous.owner_uids == record.owner_uids:
            return bool(self._unresolved) and _item(record) in self._unresolved
        return bool(record.owner_uids)

    def _note(self, record: Record) -> None:
        if record.kind == _EVENTS:
            return
        if b'"deletionTimestamp"' in record.value:
            metadata = metadata_of(record)
            if metadata.get("deletionTimestamp") and {FOREGROUND, ORPHAN} & set(metadata.get("finalizers") or ()):
                self._waiting[record.uid] = _item(record)
        if record.owner_uids or record.uid in self._waiting:
            self._queue.add(_item(record))

    def _tell_owners(self, uids: Sequence[str]) -> None:
        """An owner that waits for its dependents has one less to wait for."""
        for uid in uids:
            if uid in self._waiting:
                self._queue.add(self._waiting[uid])

    # What is done about it --------------------------------------------------------------------------------------------

    async def reconcile(self, item: _Item) -> None:
        record = self._storage.get(item.collection, item.key)
        if record is None or record.uid != item.uid:
            return
        kind = self._kinds[item.collection]
        if kind is None:
            self._unresolved.add(item)
            return
        metadata = metadata_of(record)
        finalizers = metadata.get("finalizers") or ()
        if not metadata.get("deletionTimestamp"):
            await self._attempt_to_delete(kind, record, metadata)
        elif ORPHAN in finalizers:
            await self._orphan_dependents(record)
            await self._remove_finalizer(kind, metadata, ORPHAN)
        elif FOREGROUND in finalizers:
            await self._advance_foreground(kind, record, metadata)

    async def _attempt_to_delete(self, kind: ServedKind, record: Record, metadata: Object) -> None:
        references = metadata.get("ownerReferences") or []
        states = [owner_state(self._cluster, reference, record.namespace) for reference in references]
        if OwnerState.UNKNOWN in states:
            self._unresolved.add(_item(record))
        kept = {OwnerState.SOLID, OwnerState.UNKNOWN}
        staying = [reference for reference, state in zip(references, states, strict=True) if state in kept]
        if staying:
            if len(staying) < len(references) and OwnerState.UNKNOWN not in states:
                await self._patch(kind, metadata, {"ownerReferences": staying})
        elif OwnerState.WAITING in states and self._storage.dependents(record.uid):
            await self._unblock_circle(kind, record, metadata)
            await self._delete(kind, metadata, "Foreground")
        elif references:
            await self._delete(kind, metadata, _policy(metadata))

    async def _unblock_circle(self, kind: ServedKind, record: Record, metadata: Object) -> None:
        """Where a dependent waits for this object, too, the two wait for each other: one has to give in."""
        dependents = self._storage.dependents(record.uid)
        if not any(is_deleting_dependents(metadata_of(dependent)) for dependent in dependents):
            return
        references = metadata["ownerReferences"]
        if any(reference.get("blockOwnerDeletion") for reference in references):
            freed = [{**reference, "blockOwnerDeletion": False} for reference in references]
            changed = await self._patch(kind, metadata, {"ownerReferences": freed})
            if changed is not None:
                metadata["resourceVersion"] = changed["metadata"]["resourceVersion"]

    async def _advance_foreground(self, kind: ServedKind, record: Record, metadata: Object) -> None:
        dependents = [(one, metadata_of(one)) for one in self._storage.dependents(record.uid)]
        if not any(_blocks(found, record.uid) for _, found in dependents):
            await self._remove_finalizer(kind, metadata, FOREGROUND)
        for dependent, found in dependents:
            if not found.get("deletionTimestamp"):
                self._queue.add(_item(dependent))

    async def _orphan_dependents(self, record: Record) -> None:
        for dependent in self._storage.dependents(record.uid):
            kind, metadata = self._kinds[dependent.kind], metadata_of(dependent)
            if kind is not None:
                kept = [one for one in metadata.get("ownerReferences") or () if one["uid"] != record.uid]
                await self._patch(kind, metadata, {"ownerReferences": kept})

    async def _remove_finalizer(self, kind: ServedKind, metadata: Object, finalizer: str) -> None:
        kept = [one for one in metadata.get("finalizers") or () if one != finalizer]
        await self._patch(kind, metadata, {"finalizers": kept})

    async def _delete(self, kind: ServedKind, metadata: Object, policy: str) -> None:
        preconditions = Preconditions(uid=metadata["uid"], resource_version=metadata.get("resourceVersion"))
        options = DeleteOptions(preconditions=preconditions, propagation_policy=policy)
        try:
            await self._api.delete(kind, metadata["name"], metadata.get("namespace", ""), options=options)
        except NotFound:
            return

    async def _patch(self, kind: ServedKind, metadata: Object, change: Object) -> Object | None:
        """Change metadata as it was read; None if the object is gone, Conflict if it has changed since."""
        patch = {"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], **change}}
        try:
            return await self._api.patch(kind, metadata["name"], metadata.get("namespace", ""), patch)
        except NotFound:
            return None


def _item(record: Record) -> _Item:
    return _Item(record.kind, record.key, record.uid)


def _policy(metadata: Object) -> str:
    """What shall become of the dependents of something that is deleted because of its owners."""
    finalizers = metadata.get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _blocks(metadata: Object, owner: str) -> bool:
    references = metadata.get("ownerReferences") or ()
    return any(one["uid"] == owner and one.get("blockOwnerDeletion") for one in references)
