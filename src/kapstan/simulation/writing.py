"""Writing: a status as the smallest patch that makes it so, and nothing if it is so already."""

from __future__ import annotations

from typing import Any, Protocol

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import NotFound
from kapstan.machinery.model import Resource
from kapstan.machinery.patch import diff

__all__ = ("write_status",)


class _HasStatus(Protocol):
    @property
    def status(self) -> Any: ...


async def write_status(client: Client, obj: Resource, status: Any) -> bool:
    """Make the object's status this one; whether anything was written. An object that has gone needs none."""
    had: _HasStatus = obj  # type: ignore[assignment] # whoever calls this has an object with a status
    changes = diff(to_builtins(had.status), to_builtins(status))
    if not changes:
        return False
    try:
        await client.patch(obj, Patch.merge({"status": changes}), subresource="status")
    except NotFound:
        return False
    return True
