"""The smallest merge patch between two states of one object."""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Object
from kapstan.machinery.codec import to_builtins

__all__ = ("merge_patch_between",)


def merge_patch_between(before: Object, after: Object, *, optimistic_lock: bool = False) -> dict[str, Any]:
    """What changed; empty if nothing did. Fields that the type does not know are never mentioned, so never lost.

    A list is one value: if it changed, the patch holds all of it, so its items lose what the type does not know.
    """
    from kapstan.machinery.patch import diff  # a reader needs none of it

    old, new = to_builtins(before), to_builtins(after)
    version = old.get("metadata", {}).get("resourceVersion", "")
    if optimistic_lock and not version:
        raise ValueError("optimistic_lock needs an object that was read: it has no resourceVersion")
    return diff(old, new, resource_version=version if optimistic_lock else "")
