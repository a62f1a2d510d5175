"""Update: what PUT and all patches have in common.

The change is applied to the latest state; if somebody else wrote in between, it is applied again to what they wrote,
unless the client named the version that it wants to change. A change that changes nothing is no write at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kapstan.apiserver.registry import managed
from kapstan.apiserver.registry.admitting import admission_attributes, admit
from kapstan.apiserver.registry.create import prepare_new, store_new
from kapstan.apiserver.registry.errors import conflict, invalid, modified, not_found, precondition_failed
from kapstan.apiserver.registry.fitting import fitting_record
from kapstan.apiserver.registry.metadata import (
    check_name,
    deduplicate_owners,
    ensure_namespace,
    keep_generation,
    keep_system_fields,
    metadata_of,
    revision_of,
)
from kapstan.apiserver.registry.objects import clone, decode, encode, record, same, stored, view
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.validation import validate_update
from kapstan.apiserver.request import Request
from kapstan.apiserver.storage.interface import Record, WriteConflict
from kapstan.machinery.apply import keep_timestamps
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.validation import FieldError

__all__ = ("Change", "guaranteed_update", "replace")

Object = dict[str, Any]
# From the present object (None if there is none) to the wanted one, managedFields included. May be called again.
Change = Callable[[Object | None], Awaitable[Object]]


async def replace(request: Request, obj: Object) -> Outcome:
    """PUT: the object that the client sent, which has been shaped by its schema already."""
    metadata = metadata_of(obj)
    ensure_namespace(request, metadata)
    check_name(request, metadata)
    deduplicate_owners(request, metadata)
    pristine = None if metadata.get("resourceVersion") else encode(obj)

    async def change(old: Object | None) -> Object:
        return managed.update(request, old, obj if pristine is None else decode(pristine))

    return await guaranteed_update(
        request, change, allow_create=request.strategy.allow_create_on_update, uid=metadata.get("uid") or ""
    )


async def guaranteed_update(
    request: Request,
    change: Change,
    *,
    allow_create: bool = False,
    uid: str = "",
    seen_as: Callable[[Object], Object] | None = None,
) -> Outcome:
    """Apply a change to whatever is there by then; `uid` is that of the object which the client thinks is there.

    Admission judges the object, or what it is `seen_as`; then the change has let it make its own changes already.
    """
    kind, storage, key = request.kind, request.cluster.storage, request.key
    while True:
        current = storage.latest(kind.storage.group_resource, key)
        try:
            if current is not None:
                return await _update(request, current, change, uid, seen_as)
            if not allow_create:
                raise not_found(kind.gvr.group_resource, request.name)
            return await _create(request, change)
        except WriteConflict:
            continue


async def _create(request: Request, change: Change) -> Outcome:
    obj = await change(None)
    metadata = metadata_of(obj)
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise conflict(request.kind.gvr.group_resource, request.name, why)
    ensure_namespace(request, metadata)
    check_name(request, metadata)
    obj = await admit(request, "CREATE", obj, None)
    request.cluster.authorize_create(request)
    metadata_of(obj).pop("resourceVersion", None)
    await prepare_new(request, obj)
    written = await store_new(request, obj)
    return Outcome(encode(obj) if written is None else await view(request.kind, written), created=True)


async def _update(
    request: Request, current: Record, change: Change, uid: str, seen_as: Callable[[Object], Object] | None
) -> Outcome:
    kind, storage, strategy = request.kind, request.cluster.storage, request.strategy
    resource = kind.gvr.group_resource
    value = await view(kind, current)
    old = decode(value)
    if uid and uid != current.uid:
        await storage.settle(current)
        raise precondition_failed(resource, current.key, request.name, uid, current.uid)
    obj = await change(decode(value))
    if seen_as is None:
        obj = await admit(request, "UPDATE", obj, old)
    metadata, old_metadata = metadata_of(obj), old["metadata"]
    ensure_namespace(request, metadata)
    check_name(request, metadata)
    await _check_revision(request, metadata, current)

    keep_generation(metadata, old_metadata)
    strategy.prepare_for_update(request, obj, old)
    keep_system_fields(metadata, old_metadata)
    if errors := await validate_update(request, obj, old):
        raise invalid(kind.storage.gvk.group_kind, metadata.get("name") or "", errors)
    for text in strategy.warnings(request, obj, old):
        request.warn(text)
    strategy.canonicalize(obj)
    obj = keep_timestamps(old, obj)
    seen = (obj, old) if seen_as is None else (seen_as(obj), seen_as(old))
    await request.cluster.admission.validate(admission_attributes(request, "UPDATE", *seen))
    return await _store(request, current, obj, old)


async def _check_revision(request: Request, metadata: Object, current: Record) -> None:
    """The client changes the version that it read; where it names none, the kind may take the latest for it."""
    wanted = revision_of(metadata)
    if wanted == current.revision:
        return
    await request.cluster.storage.settle(current)
    resource = request.kind.gvr.group_resource
    if wanted:
        raise modified(resource, request.name)
    if not request.strategy.allow_unconditional_update:
        error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(GroupKind(resource.group, resource.resource), request.name, [error])
    metadata["resourceVersion"] = str(current.revision)


async def _store(request: Request, current: Record, obj: Object, old: Object) -> Outcome:
    kind, storage = request.kind, request.cluster.storage
    table, key = kind.storage.group_resource, request.key
    if _finished(obj["metadata"], old["metadata"]) and kind.strategy.may_go(obj):
        if not request.dry_run:
            body = await stored(kind, clone(old))
            await storage.delete(table, key, current, lambda revision: record(kind, key, revision, body))
        return Outcome(encode(obj))
    if same(obj, old):
        await storage.settle(current)
        return Outcome(await view(kind, current))
    if request.dry_run:
        return Outcome(encode(obj))
    body = await stored(kind, obj)
    written = await storage.put(table, key, current, lambda revision: fitting_record(request, key, revision, body))
    await request.strategy.after_write(request, written)
    return Outcome(await view(kind, written))


def _finished(metadata: Object, old: Object) -> bool:
    """Whether the last finalizer of an object that is being deleted has just been removed."""
    if metadata.get("finalizers") or not old.get("deletionTimestamp"):
        return False
    return not old.get("deletionGracePeriodSeconds")
