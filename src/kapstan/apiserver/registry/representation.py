"""Representations: the forms in which a client may ask for objects, as JSON.

Whole objects, their metadata only, or tables; each as a single object, a list or an event of a watch. The bytes of
stored objects are passed on wherever possible. `key` tells representations apart, so that an event is encoded once for
all watchers who want it the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from typing import Any

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode, encode
from kapstan.apiserver.registry.outcome import Listed
from kapstan.apiserver.registry.table import IncludeObject, partial_metadata, table

__all__ = ("AsMetadata", "AsObject", "AsTable", "Representation")


class Representation:
    """Whole objects; the other forms override what differs."""

    key: Hashable = "object"

    def object(self, kind: ServedKind, value: bytes) -> bytes:
        """One object."""
        return value

    def list(self, kind: ServedKind, listed: Listed) -> bytes:
        """A list. Items of built-in lists do not repeat their kind, those of custom ones do."""
        values: Sequence[bytes] = listed.values
        if not kind.custom:
            head = kind.head
            values = [_without_head(value, head) for value in values]
        start: dict[str, Any] = {
            "kind": kind.list_kind,
            "apiVersion": kind.gvk.api_version,
            "metadata": list_metadata(listed),
        }
        if kind.custom:
            start["metadata"].setdefault("continue", "")
        return _list_document(start, values)

    def event_object(self, kind: ServedKind, value: bytes, *, first: bool) -> bytes:
        """The object of a watch event; `first` is the first one that a watcher gets."""
        return self.object(kind, value)

    def event_key(self, *, first: bool) -> Hashable:
        return self.key


AsObject = Representation


class AsMetadata(Representation):
    """Only the metadata: PartialObjectMetadata and its list."""

    def __init__(self, api_version: str = "meta.k8s.io/v1") -> None:
        self.api_version = api_version
        self.key = ("metadata", api_version)

    def object(self, kind: ServedKind, value: bytes) -> bytes:
        return partial_metadata(value, self.api_version)

    def list(self, kind: ServedKind, listed: Listed) -> bytes:
        values = [partial_metadata(value, self.api_version) for value in listed.values]
        start = {"kind": "PartialObjectMetadataList", "apiVersion": self.api_version, "metadata": list_metadata(listed)}
        return _list_document(start, values) if values else encode({**start, "items": None})


class AsTable(Representation):
    """A table with one row per object."""

    def __init__(self, api_version: str = "meta.k8s.io/v1", include: IncludeObject = "Metadata") -> None:
        self.api_version = api_version
        self.include: IncludeObject = include
        self.key = ("table", api_version, include)

    def object(self, kind: ServedKind, value: bytes) -> bytes:
        return self._table(kind, [value], {"resourceVersion": _resource_version(value)})

    def list(self, kind: ServedKind, listed: Listed) -> bytes:
        return self._table(kind, listed.values, list_metadata(listed))

    def event_object(self, kind: ServedKind, value: bytes, *, first: bool) -> bytes:
        return self._table(kind, [value], {"resourceVersion": _resource_version(value)}, headers=first)

    def event_key(self, *, first: bool) -> Hashable:
        return (self.key, first)

    def _table(
        self, kind: ServedKind, values: Sequence[bytes], metadata: dict[str, Any], headers: bool = True
    ) -> bytes:
        now = datetime.now(UTC)
        return table(kind, values, metadata, now, api_version=self.api_version, include=self.include, headers=headers)


def list_metadata(listed: Listed) -> dict[str, Any]:
    found: dict[str, Any] = {"resourceVersion": str(listed.revision)}
    if listed.continue_token:
        found["continue"] = listed.continue_token
    if listed.remaining is not None:
        found["remainingItemCount"] = listed.remaining
    return found


def _list_document(start: dict[str, Any], values: Sequence[bytes]) -> bytes:
    return b'%s,"items":[%s]}' % (encode(start)[:-1], b",".join(values))


def _without_head(value: bytes, head: bytes) -> bytes:
    if value.startswith(head):
        return b"{" + value[len(head) :]
    obj = decode(value)
    return encode({name: part for name, part in obj.items() if name not in ("apiVersion", "kind")})


def _resource_version(value: bytes) -> str:
    found: str = decode(value)["metadata"].get("resourceVersion", "")
    return found
