"""Owners: whether the objects that another one names as its owners are there, and what they are doing."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.machinery.gvk import GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.storage.interface import Record

__all__ = ("FOREGROUND", "ORPHAN", "OwnerState", "is_deleting_dependents", "metadata_of", "owner_state")

Object = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class OwnerState(Enum):
    """What a reference to an owner leads to."""

    SOLID = "there"
    WAITING = "there, and waiting for its dependents to go"
    ABSENT = "gone"
    UNKNOWN = "of a kind that is not served, or out of reach"


class _Document(msgspec.Struct):
    metadata: dict[str, Any]


_decode = msgspec.json.Decoder(_Document).decode


def metadata_of(record: Record) -> Object:
    """A record's metadata; the rest of it is not even made."""
    return _decode(record.value).metadata


def is_deleting_dependents(metadata: Object) -> bool:
    """Whether an object is being deleted and waits until its dependents are gone."""
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())


def owner_state(cluster: LogicalCluster, reference: Object, namespace: str) -> OwnerState:
    """The state of an owner, for a dependent in a namespace ("" if it is in none).

    A dependent outside of namespaces cannot have an owner in one: nobody could say which.
    """
    kind = cluster.kinds.kind(GroupVersionKind.of(reference["apiVersion"], reference["kind"]))
    if kind is None or (kind.namespaced and not namespace):
        return OwnerState.UNKNOWN
    key = kind.storage.key(namespace, reference["name"])
    owner = cluster.storage.get(kind.storage.group_resource, key)
    if owner is None or owner.uid != reference["uid"]:
        return OwnerState.ABSENT
    return OwnerState.WAITING if is_deleting_dependents(metadata_of(owner)) else OwnerState.SOLID
