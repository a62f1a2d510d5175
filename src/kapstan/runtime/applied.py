"""What this process has applied: enough to know that applying it again would change nothing.

Server-side apply of what is already so is a request that ends in nothing, and a level-triggered reconciler makes it
on every pass. It is skipped if the same was applied before and the object, as cached, still is what came out then:
everything but its status and the marks of time (or of a status that was applied, exactly the status).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw

from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.snapshot import Snapshot

__all__ = ("Applied", "AppliedKey")


class AppliedKey(NamedTuple):
    """Who applied to which part of which object."""

    object: ObjectKey
    field_manager: str
    subresource: str


class _Memo(NamedTuple):
    body: int
    resource_version: str
    outcome: int


class Applied:
    """What was applied, by object; forgotten with it."""

    def __init__(self) -> None:
        self._memos: dict[GroupVersionKind, dict[ObjectKey, dict[AppliedKey, _Memo]]] = {}

    def unchanged(self, informer: SharedInformer, key: AppliedKey, body: bytes) -> Snapshot | None:
        """The object, if applying `body` to it would change nothing."""
        memo = self._memos.get(informer.gvk, {}).get(key.object, {}).get(key)
        current = informer.store.get(key.object)
        if memo is None or current is None or memo.body != hash(body) or current.deleting:
            return None
        if current.resource_version != memo.resource_version and _outcome(current, key.subresource) != memo.outcome:
            return None
        return current

    def remember(self, informer: SharedInformer, key: AppliedKey, body: bytes, resource_version: str) -> None:
        """The server has answered an apply of `body` with that version."""
        current = informer.store.get(key.object)
        if current is None or current.resource_version != resource_version:
            return  # somebody was faster: what came out of ours is not known
        if informer.gvk not in self._memos:
            self._memos[informer.gvk] = {}
            informer.listen(lambda old, new, initial: self._forget(informer.gvk, old, new))
        memo = _Memo(hash(body), resource_version, _outcome(current, key.subresource))
        self._memos[informer.gvk].setdefault(key.object, {})[key] = memo

    def _forget(self, gvk: GroupVersionKind, old: Snapshot | None, new: Snapshot | None) -> None:
        if new is None and old is not None:
            self._memos[gvk].pop(old.key, None)


_parts = msgspec.json.Decoder(dict[str, Raw]).decode
_PASSING = ("resourceVersion", "managedFields")


def _outcome(snapshot: Snapshot, subresource: str) -> int:
    """What an apply is about, as a number. The server writes the same fields in the same order each time."""
    parts = _parts(snapshot.data)
    if subresource == "status":
        return hash(bytes(parts.get("status", b"")))
    metadata = _parts(parts["metadata"])
    said = {name: part for name, part in metadata.items() if name not in _PASSING}
    rest = {name: part for name, part in parts.items() if name not in ("metadata", "status")}
    return hash(tuple((name, bytes(part)) for name, part in sorted((said | rest).items())))
