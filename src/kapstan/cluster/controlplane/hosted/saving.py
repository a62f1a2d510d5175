"""Saving: write what has changed of a status, as the smallest patch."""

from __future__ import annotations

from typing import Any

from kapstan.client import Client, Patch
from kapstan.cluster.api.controlplane.hosted import HostedControlPlane, HostedControlPlaneStatus
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.patch import diff

__all__ = ("save_status",)


async def save_status(client: Client, control_plane: HostedControlPlane, before: HostedControlPlaneStatus) -> None:
    """A merge patch replaces lists as a whole: refused with Conflict if somebody else has written meanwhile."""
    changes = diff(_document(before), _document(control_plane.status))
    if not changes:
        return
    metadata = {"resourceVersion": control_plane.metadata.resource_version}
    written = await client.patch(
        control_plane, Patch.merge({"metadata": metadata, "status": changes}), subresource="status"
    )
    control_plane.metadata.resource_version = written.metadata.resource_version


def _document(status: HostedControlPlaneStatus) -> dict[str, Any]:
    """The API demands of a condition that it has a message, even an empty one."""
    document: dict[str, Any] = to_builtins(status)
    for condition in document.get("conditions", ()):
        condition.setdefault("message", "")
    return document
