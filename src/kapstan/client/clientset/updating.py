"""Update for typed objects: what a PUT would do to the fields that the class knows, as a patch.

A PUT of a typed object would erase every field that its class does not know. So the live object is read, and the
difference to what is wanted is patched, under a lock: on what the caller has read, or on what we have just read.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.client.retry import retry_on_conflict
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.model import Resource, resource_info
from kapstan.machinery.patch import diff

__all__ = ("replace",)

R = TypeVar("R", bound=Resource)

# Of the metadata, what a client may change.
_CHANGEABLE = ("annotations", "finalizers", "labels", "ownerReferences")


async def replace(
    client: Client, obj: R, *, subresource: str = "", field_manager: str = "", dry_run: bool = False
) -> R:
    """Make the live object what `obj` is, in all that its class knows."""

    async def once() -> R:
        live = await client.get(type(obj), obj.metadata.name, obj.metadata.namespace)
        lock = obj.metadata.resource_version or live.metadata.resource_version
        changes = diff(_content(live, subresource), _content(obj, subresource))
        if not changes and lock == live.metadata.resource_version:
            return live
        changes.setdefault("metadata", {})["resourceVersion"] = lock
        return await client.patch(
            live, Patch.merge(changes), subresource=subresource, field_manager=field_manager, dry_run=dry_run
        )

    if obj.metadata.resource_version:
        return await once()
    return await retry_on_conflict(once)


def _content(obj: Resource, subresource: str) -> dict[str, Any]:
    """The part of an object that an update is about."""
    content: dict[str, Any] = to_builtins(obj)
    if subresource:
        return {subresource: content.get(subresource, {})}
    metadata = content.pop("metadata", {})
    for part in resource_info(obj).subresources:
        content.pop(part, None)
    content["metadata"] = {key: metadata[key] for key in _CHANGEABLE if key in metadata}
    return content
