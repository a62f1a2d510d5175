"""Create: a new object, under the name that the client chose or let the server choose."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.registry import managed
from kapstan.apiserver.registry.admitting import admission_attributes, admit
from kapstan.apiserver.registry.errors import already_exists, generate_name_conflict, invalid, unclassified
from kapstan.apiserver.registry.fitting import fitting_record
from kapstan.apiserver.registry.metadata import (
    deduplicate_owners,
    ensure_namespace,
    fill_system_fields,
    metadata_of,
    wipe_system_fields,
)
from kapstan.apiserver.registry.objects import clone, decode, encode, stored, view
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.validation import validate_create
from kapstan.apiserver.request import Request
from kapstan.apiserver.storage.interface import Record, WriteConflict
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.names import generate_name

__all__ = ("create", "prepare_new", "store_new")

Object = dict[str, Any]

_ATTEMPTS = 8  # to find a free name


async def create(request: Request, obj: Object) -> Outcome:
    """Create what the client sent, which has been shaped by its schema already."""
    metadata = metadata_of(obj)
    wipe_system_fields(metadata)
    ensure_namespace(request, metadata)
    deduplicate_owners(request, metadata)
    obj = await admit(request, "CREATE", managed.update(request, None, obj), None)
    if metadata_of(obj).get("name") or not metadata_of(obj).get("generateName"):
        return await _create(request, obj)
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _create(request, clone(obj))
        except AlreadyExists:
            continue
    return await _create(request, obj)


async def _create(request: Request, obj: Object) -> Outcome:
    await prepare_new(request, obj)
    metadata = obj["metadata"]
    if metadata.get("resourceVersion") and not request.dry_run:  # it is the storage of Kubernetes that refuses it
        raise unclassified("resourceVersion should not be set on objects to be created")
    try:
        written = await store_new(request, obj)
    except WriteConflict:
        raise await _exists(request, metadata) from None
    return Outcome(encode(obj) if written is None else await view(request.kind, written), created=True)


async def prepare_new(request: Request, obj: Object) -> None:
    """Make the object complete, and see whether it is valid and admitted."""
    metadata, strategy = metadata_of(obj), request.strategy
    fill_system_fields(request, metadata)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generate_name(metadata["generateName"])
    ensure_namespace(request, metadata)
    strategy.prepare_for_create(request, obj)
    if errors := await validate_create(request, obj):
        raise invalid(request.kind.storage.gvk.group_kind, metadata.get("name") or "", errors)
    for text in strategy.warnings(request, obj, None):
        request.warn(text)
    strategy.canonicalize(obj)
    attributes = admission_attributes(request, "CREATE", obj, None)
    await request.cluster.admission.validate(attributes)


async def store_new(request: Request, obj: Object) -> Record | None:
    """Write it; None if that was only a rehearsal. WriteConflict if the name is taken."""
    kind, storage = request.kind, request.cluster.storage
    metadata = obj["metadata"]
    key = kind.storage.key(metadata.get("namespace", ""), metadata["name"])
    if request.dry_run:
        if storage.latest(kind.storage.group_resource, key) is not None:
            raise WriteConflict
        return None
    body = await stored(kind, obj)
    written = await storage.put(
        kind.storage.group_resource, key, None, lambda revision: fitting_record(request, key, revision, body)
    )
    await request.strategy.after_write(request, written)
    return written


async def _exists(request: Request, metadata: Object) -> AlreadyExists:
    """The refusal for a name that is taken; the one who has it may still be waiting for the disk."""
    kind, storage = request.kind, request.cluster.storage
    resource, name = kind.gvr.group_resource, metadata["name"]
    if metadata.get("generateName"):
        return generate_name_conflict(resource, name)
    found = storage.latest(kind.storage.group_resource, kind.storage.key(metadata.get("namespace", ""), name))
    if found is not None:
        await storage.settle(found)
    deleting = found is not None and bool(decode(found.value)["metadata"].get("deletionTimestamp"))
    return already_exists(resource, name, deleting=deleting)
