"""Rewriting: changing a stored object past the rules of its endpoints, as the server itself may."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.registry.errors import not_found
from kapstan.apiserver.registry.fitting import bounded_record
from kapstan.apiserver.registry.objects import decode
from kapstan.apiserver.storage.interface import Record, WriteConflict

if TYPE_CHECKING:
    from kapstan.apiserver.kinds import ServedKind
    from kapstan.apiserver.storage.interface import Storage

__all__ = ("rewrite",)

Object = dict[str, Any]


async def rewrite(
    storage: Storage, kind: ServedKind, namespace: str, name: str, change: Callable[[Object], None], *, dry_run: bool
) -> Object:
    """Apply a change to the latest state of an object; what `change` raises ends it. NotFound if there is none."""
    collection, key = kind.storage.group_resource, kind.storage.key(namespace, name)
    while True:
        current = storage.latest(collection, key)
        if current is None:
            raise not_found(kind.gvr.group_resource, name)
        obj = decode(current.value)
        change(obj)
        if dry_run:
            return obj

        def build(revision: int, obj: Object = obj) -> Record:
            return bounded_record(kind, key, revision, obj)

        try:
            written = await storage.put(collection, key, current, build)
        except WriteConflict:
            continue
        return decode(written.value)
