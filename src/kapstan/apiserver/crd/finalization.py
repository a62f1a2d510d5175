"""The end of a definition: its instances are deleted, and when the last one is gone, so is the definition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.crd.definition import is_established, kinds_of
from kapstan.apiserver.crd.definitions import CLEANUP
from kapstan.apiserver.crd.naming import set_condition
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode
from kapstan.apiserver.request import DeleteOptions
from kapstan.machinery.errors import APIError

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("finalize",)

Object = dict[str, Any]

_RETRY = 5.0  # seconds, where a webhook or the disk refused


async def finalize(cluster: LogicalCluster, name: str) -> None:
    """Delete all instances of a definition that is being deleted, then let it go."""
    definitions = cluster.custom_resources
    crd = await definitions.update_status(name, _terminating("InstanceDeletionInProgress", _IN_PROGRESS))
    if crd is None:
        return
    if not is_established(crd):
        reason, message = "NeverEstablished", "resource was never established"
    else:
        reason, message = "InstanceDeletionCompleted", "removed all instances"
        kind, _ = next(iter(kinds_of(crd, None).values()))
        while True:
            if await _delete_instances(cluster, kind, name):
                break
            await asyncio.sleep(_RETRY)

    def release(crd: Object) -> None:
        set_condition(crd, "Terminating", "False", reason, message, _now())
        metadata = crd["metadata"]
        metadata["finalizers"] = [found for found in metadata.get("finalizers") or () if found != CLEANUP]
        if not metadata["finalizers"]:
            del metadata["finalizers"]

    await definitions.update_status(name, release)


_IN_PROGRESS = "CustomResource deletion is in progress"


def _terminating(reason: str, message: str) -> Callable[[Object], None]:
    return lambda crd: set_condition(crd, "Terminating", "True", reason, message, _now())


async def _delete_instances(cluster: LogicalCluster, kind: ServedKind, name: str) -> bool:
    """Ask for every instance's deletion and wait until the last finalizer is done; False if some were refused."""
    table = kind.storage.group_resource
    served = next((found for found in cluster.kinds if found.storage.group_resource == table), kind)
    errors = []
    for stored in cluster.storage.list(table):
        if decode(stored.value)["metadata"].get("deletionTimestamp"):
            continue
        try:
            await cluster.api.delete(served, stored.name, stored.namespace, options=DeleteOptions())
        except APIError as error:
            if error.code != 404:
                errors.append(str(error))
    if errors:
        message = f"could not issue all deletes: {errors[0]}"
        await cluster.custom_resources.update_status(name, _terminating("InstanceDeletionFailed", message))
        return False
    await _emptied(cluster, table)
    return True


async def _emptied(cluster: LogicalCluster, table: Any) -> None:
    """Return when a collection has no objects any more."""
    changed = asyncio.Event()
    stop = cluster.storage.observe(lambda event: changed.set(), table)
    try:
        while cluster.storage.count(table):
            changed.clear()
            await changed.wait()
    finally:
        stop()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
