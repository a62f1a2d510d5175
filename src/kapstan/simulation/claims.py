"""Claims: which objects a controller manages, by owner reference and selector, as kube-controller-manager decides it.

An object that matches the selector and has no controller is adopted; one that we control and that no longer matches
is released. Nothing that another controller manages is touched.
"""

from __future__ import annotations

from typing import TypeVar

from kapstan.client.interface import Patch
from kapstan.machinery import labels
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.meta import LabelSelector
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import owner_reference, remove_owner
from kapstan.runtime.cachedclient import CachedClient

__all__ = ("claimed",)

R = TypeVar("R", bound=Resource)


async def claimed(client: CachedClient, owner: Resource, kind: type[R], selector: LabelSelector) -> list[R]:
    """The objects of a kind that the owner manages, from the cache, after adopting and releasing what is due."""
    store = client.cache.factory.shared(kind).store
    wanted = labels.from_label_selector(selector)
    found = {snapshot.key: snapshot for snapshot in store.owned_by(owner.uid)}
    found |= {snapshot.key: snapshot for snapshot in store.select(owner.namespace, wanted)}
    mine: list[R] = []
    for snapshot in found.values():
        obj: R = snapshot.decode(kind)
        controller = obj.controller_ref()
        matches = wanted.matches(obj.metadata.labels)
        if controller is not None and controller.uid == owner.uid:
            if matches:
                mine.append(obj)
            elif not owner.deleting:
                await _release(client, owner, obj)
        elif controller is None and matches and not owner.deleting and not obj.deleting:
            mine += await _adopted(client, owner, obj)
    return mine


async def _adopted(client: CachedClient, owner: Resource, obj: R) -> list[R]:
    """The object as ours; nothing if it is gone, or another owner's, by now."""
    references = [*obj.metadata.owner_references, owner_reference(owner, controller=True)]
    return [adopted] if (adopted := await _refer(client, obj, references)) is not None else []


async def _release(client: CachedClient, owner: Resource, obj: Resource) -> None:
    remove_owner(owner, obj)
    await _refer(client, obj, obj.metadata.owner_references)


async def _refer(client: CachedClient, obj: R, references: object) -> R | None:
    metadata = {
        "uid": obj.uid,
        "resourceVersion": obj.metadata.resource_version,
        "ownerReferences": to_builtins(references) or None,
    }
    try:
        return await client.patch(obj, Patch.merge({"metadata": metadata}))
    except (NotFound, Conflict):
        return None  # the watch brings what it is now
