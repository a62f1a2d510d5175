"""Draft: an object that a reconcile changes as it goes. What has changed is written as the smallest patches.

Metadata and spec go in one patch, the status in another. A merge patch replaces a list as a whole, so one that changes
a list is refused by the server if the object is no longer as it was read; the reconcile is then tried again. So is one
of the status: an overloaded server may carry out a request long after it was given up, when newer ones have been made.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.cluster.skeleton.ownstatus import wrote_status
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.patch import diff, replaces_list

__all__ = ("Draft",)

R = TypeVar("R", bound=Resource)


class _Object(Protocol):
    metadata: ObjectMeta
    spec: Any
    status: Any


class Draft(Generic[R]):
    """An object as it was read, and as it has become."""

    def __init__(self, client: Client, obj: R) -> None:
        self._client = client
        self.obj = obj
        self._before = to_builtins(obj)

    @property
    def gone(self) -> bool:
        """Whether nothing holds up the deletion of the object any more: once that is written, it is no more."""
        return self.obj.deleting and not self.obj.metadata.finalizers

    async def save(self, *, locked: bool = False) -> None:
        """Write metadata and spec, if they have changed. The object's version and generation are then the new ones.

        With `locked` it is refused if the object is no longer as it was read, whatever has changed.
        """
        after = to_builtins(self.obj)
        changes = diff(_but_status(self._before), _but_status(after))
        if not changes:
            return
        written = await self._patch(changes, locked=locked)
        obj: _Object = self.obj  # type: ignore[assignment]
        obj.metadata, obj.spec = written.metadata, written.spec
        self._before = to_builtins(written) | {"status": self._before.get("status", {})}

    async def save_status(self, *, own: bool = False) -> None:
        """Write the status, if it has changed. `own`: by the object's own reconcile, at its end, which need not be
        woken by it; others write conditions of theirs into it, and of those it has to hear."""
        after = to_builtins(self.obj).get("status", {})
        changes = diff(self._before.get("status", {}), after)
        if not changes:
            return
        written = await self._patch({"status": changes}, subresource="status", locked=True)
        version = written.metadata.resource_version
        if own:
            wrote_status(self.obj.uid, self.obj.metadata.resource_version, version)
        self.obj.metadata.resource_version = version
        self._before["metadata"]["resourceVersion"] = version
        self._before["status"] = after

    async def _patch(self, changes: dict[str, Any], *, subresource: str = "", locked: bool = False) -> Any:
        if locked or replaces_list(self._before, changes):
            changes.setdefault("metadata", {})["resourceVersion"] = self._before["metadata"]["resourceVersion"]
        return await self._client.patch(self.obj, Patch.merge(changes), subresource=subresource)


def _but_status(document: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in document.items() if name != "status"}
