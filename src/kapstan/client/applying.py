"""What is sent in an apply: what its author says, and nothing that only the server can know."""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Object, PartialObjectMetadata, gvk_of
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import set_controller

__all__ = ("apply_body",)

# The server sets these: to apply them would be to claim them.
_SERVERS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


def apply_body(obj: Object, *, owner: Resource | None = None, subresource: str = "") -> dict[str, Any]:
    """An object as it is applied. `owner` becomes its controller; AlreadyOwned if it has another one."""
    body: dict[str, Any] = dict(obj) if isinstance(obj, dict) else to_builtins(obj)
    metadata = {key: value for key, value in body.get("metadata", {}).items() if key not in _SERVERS}
    if owner is not None:
        metadata["ownerReferences"] = _owned(obj, metadata, owner)
    gvk = gvk_of(obj)
    said = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata") and value != {}}
    if subresource == "status":  # the rest is not this writer's business here
        said = {"status": said["status"]} if "status" in said else {}
        metadata = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **said}


def _owned(obj: Object, metadata: dict[str, Any], owner: Resource) -> list[dict[str, Any]]:
    gvk = gvk_of(obj)
    bare = convert({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}, PartialObjectMetadata)
    set_controller(owner, bare)
    references: list[dict[str, Any]] = to_builtins(bare.metadata.owner_references)
    return references
