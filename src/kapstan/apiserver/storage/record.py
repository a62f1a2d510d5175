"""Making records from bytes: the few fields of an object's metadata that storage and watches ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kapstan.apiserver.storage.interface import Record
from kapstan.machinery.gvk import GroupResource

__all__ = ("record_from_object", "record_from_value")


class _Owner(msgspec.Struct):
    uid: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


_DECODER = msgspec.json.Decoder(_Object)
_ENCODER = msgspec.json.Encoder()


def record_from_value(kind: GroupResource, key: str, revision: int, value: bytes) -> Record:
    """The record of an object that was read back, as JSON."""
    metadata = _DECODER.decode(value).metadata
    return Record(
        kind,
        key,
        revision,
        value,
        uid=metadata.uid,
        labels=metadata.labels or {},
        owner_uids=tuple(owner.uid for owner in metadata.owner_references or ()),
    )


def record_from_object(
    kind: GroupResource, key: str, revision: int, obj: Mapping[str, Any], written_as: Any = None
) -> Record:
    """The record of an object that is about to be written; its resourceVersion is set to the revision."""
    metadata = obj["metadata"]
    metadata["resourceVersion"] = str(revision)
    return Record(
        kind,
        key,
        revision,
        _ENCODER.encode(obj),
        uid=metadata.get("uid", ""),
        labels=dict(metadata.get("labels") or ()),
        owner_uids=tuple(owner["uid"] for owner in metadata.get("ownerReferences") or ()),
        written_as=written_as,
    )
