"""Delete: at once, or by marking the object and letting finalizers and grace periods run out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from kapstan.apiserver.registry.admitting import admission_attributes
from kapstan.apiserver.registry.errors import conflict, not_found
from kapstan.apiserver.registry.fitting import bounded_record
from kapstan.apiserver.registry.metadata import metadata_of
from kapstan.apiserver.registry.objects import clone, decode, encode, record, stored, view
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.request import DeleteOptions, Request
from kapstan.apiserver.storage.interface import Record, WriteConflict
from kapstan.machinery.gvk import GroupResource

__all__ = ("delete",)

Object = dict[str, Any]

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_MAX_GRACE = 10**9  # seconds, thirty years: with any number, there would be no date for the end


class _Grace(NamedTuple):
    """What the grace period asks for: mark the object, or leave it as it is because it is marked already."""

    marked: bool = False
    pending: bool = False
    seconds: int = 0


async def delete(request: Request) -> Outcome:
    """Delete one object as the request's options say."""
    kind, storage = request.kind, request.cluster.storage
    options = request.options
    assert isinstance(options, DeleteOptions)
    for text in kind.strategy.deletion_warnings(options):
        request.warn(text)
    while True:
        current = storage.latest(kind.storage.group_resource, request.key)
        if current is None:
            raise not_found(kind.gvr.group_resource, request.name)
        try:
            return await _delete(request, current, options)
        except WriteConflict:
            continue


async def _delete(request: Request, current: Record, options: DeleteOptions) -> Outcome:
    kind = request.kind
    value = await view(kind, current)
    old, obj = decode(value), decode(value)
    await _check_preconditions(request, old["metadata"], current, options)
    grace = _mark_gracefully(request, obj, options)
    if grace.pending:
        await request.cluster.storage.settle(current)
        return _answer(request, old, deleted=False)
    attributes = admission_attributes(request, "DELETE", None, old)
    await request.cluster.admission.admit(attributes)
    await request.cluster.admission.validate(attributes)
    if kind.strategy.mark_for_deletion(request, obj, options):
        return await _store_marked(request, current, obj)

    metadata = metadata_of(obj)
    _set_propagation_finalizers(request, metadata, options)
    if metadata.get("finalizers") and not grace.marked:
        _mark(request, metadata)
    if metadata.get("finalizers") or grace.seconds > 0:
        return await _store_marked(request, current, obj)
    if grace.marked and not request.dry_run:
        # Watchers see that the grace period is over before they see that the object is gone.
        await _store_marked(request, current, obj)
        marked = request.cluster.storage.latest(kind.storage.group_resource, request.key)
        if marked is None or marked.uid != current.uid:
            return _answer(request, obj, deleted=True)
        return await _remove(request, marked, decode(await view(kind, marked)))
    return await _remove(request, current, obj if grace.marked else old)


async def _check_preconditions(request: Request, metadata: Object, current: Record, options: DeleteOptions) -> None:
    wanted = options.preconditions
    resource = GroupResource(request.kind.gvk.group, request.kind.gvk.kind)
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    why = ""
    if wanted.uid is not None and wanted.uid != uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
    elif wanted.resource_version is not None and wanted.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified"
        )
    if why:
        await request.cluster.storage.settle(current)
        raise conflict(resource, request.name, why)


def _mark_gracefully(request: Request, obj: Object, options: DeleteOptions) -> _Grace:
    """Set the deletion's time where the kind has a grace period; a second deletion may only shorten it."""
    metadata = metadata_of(obj)
    if options.grace_period_seconds is not None and options.grace_period_seconds < 0:
        options = msgspec.structs.replace(options, grace_period_seconds=1)
    if metadata.get("deletionTimestamp"):
        return _shorten(request, metadata, options)
    seconds = request.kind.strategy.grace_period(request, obj, options)
    if seconds is None:
        return _Grace()
    seconds = min(seconds, _MAX_GRACE)
    metadata["deletionTimestamp"] = _timestamp(request.now + timedelta(seconds=seconds))
    metadata["deletionGracePeriodSeconds"] = seconds
    _count_generation(metadata)
    return _Grace(marked=True, seconds=seconds)


def _shorten(request: Request, metadata: Object, options: DeleteOptions) -> _Grace:
    before = metadata.get("deletionGracePeriodSeconds") or 0
    if before == 0:
        return _Grace()
    wanted = options.grace_period_seconds
    if wanted is None or wanted >= before:
        return _Grace(pending=True)
    started = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=before)
    ends = started + timedelta(seconds=wanted)
    if ends < request.now:
        ends = request.now
        wanted = min(wanted, 1)
    metadata["deletionTimestamp"] = _timestamp(ends)
    metadata["deletionGracePeriodSeconds"] = wanted
    return _Grace(marked=True, seconds=wanted)


def _set_propagation_finalizers(request: Request, metadata: Object, options: DeleteOptions) -> None:
    """The two finalizers that the garbage collector looks for, as the options, the object or the kind want them."""
    present = metadata.get("finalizers") or []
    wanted = _propagation_finalizer(request, present, options)
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    finalizers = [*kept, wanted] if wanted else kept
    if set(finalizers) == set(present):
        return
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _propagation_finalizer(request: Request, present: list[str], options: DeleteOptions) -> str:
    default = request.kind.strategy.default_garbage_collection(request)
    if default == "Unsupported":
        return ""
    if options.orphan_dependents is not None:
        return ORPHAN if options.orphan_dependents else ""
    if options.propagation_policy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation_policy, "")
    for name in present:
        if name in (ORPHAN, FOREGROUND):
            return name
    return ORPHAN if default == "OrphanDependents" else ""


def _mark(request: Request, metadata: Object) -> None:
    """The deletion has begun; finalizers decide when it ends."""
    if not metadata.get("deletionTimestamp"):
        _count_generation(metadata)
        metadata["deletionTimestamp"] = request.timestamp
    elif datetime.fromisoformat(metadata["deletionTimestamp"]) > request.now:
        metadata["deletionTimestamp"] = request.timestamp
    metadata["deletionGracePeriodSeconds"] = 0


def _count_generation(metadata: Object) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1


async def _store_marked(request: Request, current: Record, obj: Object) -> Outcome:
    kind, storage = request.kind, request.cluster.storage
    value = encode(obj)
    if value == await view(kind, current):
        await storage.settle(current)
    elif not request.dry_run:
        body, key = await stored(kind, obj), request.key
        written = await storage.put(
            kind.storage.group_resource, key, current, lambda revision: bounded_record(kind, key, revision, body)
        )
        await kind.strategy.after_write(request, written)
        value = await view(kind, written)
    return Outcome(value, deleted=False)


async def _remove(request: Request, current: Record, obj: Object) -> Outcome:
    kind, storage, key = request.kind, request.cluster.storage, request.key
    if not request.dry_run:
        body = await stored(kind, clone(obj))
        written = await storage.delete(
            kind.storage.group_resource, key, current, lambda revision: record(kind, key, revision, body)
        )
        obj["metadata"]["resourceVersion"] = str(written.revision)
    return _answer(request, obj, deleted=True)


def _answer(request: Request, obj: Object, *, deleted: bool) -> Outcome:
    """Most kinds answer with a Status that tells which object is gone, some with the object itself."""
    if request.kind.strategy.returns_deleted:
        return Outcome(encode(obj), deleted=deleted)
    resource, metadata = request.kind.gvr.group_resource, obj["metadata"]
    details: Object = {"name": metadata.get("name", "")}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.resource, "uid": metadata.get("uid", "")}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Outcome(encode(status), deleted=deleted, plain=True)


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
