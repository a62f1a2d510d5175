"""The smallest merge patch between two states of one object."""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Object
from kapstan.machinery.codec import to_builtins

__all__ = ("merge_patch_between",)


def merge_patch_between(before: Object, after: Object, *, optimistic_lock: bool = False) -> dict[str, Any]:
    """What changed; empty if nothing did. Fields that the type does not know are never mentioned, so never lost."""
    from kapstan.machinery.patch import diff

    old, new = to_builtins(before), to_builtins(after)
    changes: dict[str, Any] = diff(old, new)
    if optimistic_lock and changes:
        changes.setdefault("metadata", {})["resourceVersion"] = old["metadata"]["resourceVersion"]
    return changes
