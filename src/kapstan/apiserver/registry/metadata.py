"""Metadata: which fields of it the server sets, keeps and refuses, the same for every kind."""

from __future__ import annotations

import uuid
from typing import Any

from kapstan.apiserver.registry.errors import unclassified
from kapstan.apiserver.request import Request, WriteOptions
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote

__all__ = (
    "check_name",
    "deduplicate_owners",
    "ensure_namespace",
    "fill_system_fields",
    "keep_generation",
    "keep_system_fields",
    "manager_of",
    "metadata_of",
    "revision_of",
    "wipe_system_fields",
)

Object = dict[str, Any]

_SYSTEM = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_MANAGER_LENGTH = 128
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)
_DUPLICATE_OWNERS_AFTER_ADMISSION = (
    ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner "
    "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) "
    "observed: {}"
)


def metadata_of(obj: Object) -> Object:
    """An object's metadata, made if it has none."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def revision_of(metadata: Object) -> int:
    """The resourceVersion that a client sent; 0 if none."""
    text = metadata.get("resourceVersion") or "0"
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise unclassified(f"strconv.ParseUint: parsing {quote(str(text))}: invalid syntax")
    return int(text)


def wipe_system_fields(metadata: Object) -> None:
    """What a client sends of these means nothing on create."""
    for name in _SYSTEM:
        metadata.pop(name, None)


def fill_system_fields(request: Request, metadata: Object) -> None:
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = request.timestamp


def keep_system_fields(metadata: Object, old: Object) -> None:
    """An update cannot change these; it may leave them out."""
    if not metadata.get("uid"):
        metadata["uid"] = old.get("uid", "")
    if old.get("creationTimestamp"):
        metadata["creationTimestamp"] = old["creationTimestamp"]
    if old.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if old.get("deletionGracePeriodSeconds") is not None and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def keep_generation(metadata: Object, old: Object) -> None:
    if "generation" in old:
        metadata["generation"] = old["generation"]
    else:
        metadata.pop("generation", None)


def ensure_namespace(request: Request, metadata: Object) -> None:
    """An object is in the namespace of the request; saying otherwise is a mistake."""
    found, wanted = metadata.get("namespace") or "", request.namespace if request.kind.namespaced else ""
    if found == wanted:
        if not found:
            metadata.pop("namespace", None)
    elif not found:
        metadata["namespace"] = wanted
    elif not wanted:
        del metadata["namespace"]
    else:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_name(request: Request, metadata: Object) -> None:
    """An update names the object that its URL names."""
    name = metadata.get("name") or ""
    if not name:
        raise BadRequest(
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
    if name != request.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({request.name})")


def deduplicate_owners(request: Request, metadata: Object, *, after_admission: bool = False) -> None:
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    unique: list[Any] = []
    duplicates = []
    for reference in references:
        if reference in unique:
            duplicates.append(str(reference.get("uid", "")))
        else:
            unique.append(reference)
    if duplicates:
        text = _DUPLICATE_OWNERS_AFTER_ADMISSION if after_admission else _DUPLICATE_OWNERS
        request.warn(text.format(", ".join(duplicates)))
        metadata["ownerReferences"] = unique


def manager_of(request: Request) -> str:
    """Who is said to own the fields: what the client calls itself, or its user agent up to the slash."""
    if isinstance(request.options, WriteOptions) and request.options.field_manager:
        return request.options.field_manager
    agent = "".join(char for char in request.user_agent.partition("/")[0] if char.isprintable())
    return agent.encode()[:_MANAGER_LENGTH].decode(errors="ignore")
