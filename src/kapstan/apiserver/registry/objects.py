"""Objects between storage and clients: decoding records, and bringing them into the version that is asked for.

A record that was written under the definition now in force is sent as it is. Any other is pruned, defaulted and
converted first; unless a webhook had a part in it, the result is kept beside the record, so that it is made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kapstan.apiserver.kinds import ServedKind, StorageKind
from kapstan.apiserver.storage.interface import Record
from kapstan.apiserver.storage.record import record_from_object
from kapstan.machinery.gvk import GroupVersion

__all__ = (
    "clone",
    "decode",
    "encode",
    "prepare_views",
    "ready_view",
    "record",
    "same",
    "served",
    "stored",
    "view",
    "views",
)

Object = dict[str, Any]

encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder()
_sorted_encode = msgspec.json.Encoder(order="deterministic").encode


def decode(value: bytes) -> Object:
    """An object from its JSON; the caller owns it."""
    found: Object = _decoder.decode(value)
    return found


def clone(obj: Object) -> Object:
    """A deep copy."""
    found: Object = _decoder.decode(encode(obj))
    return found


def same(one: Object, other: Object) -> bool:
    """Whether two objects are equal as JSON: Python takes 1, 1.0 and true for equal, which they are not."""
    return one == other and _sorted_encode(one) == _sorted_encode(other)


def ready_view(kind: ServedKind, record: Record) -> bytes | None:
    """A record's JSON in a version, if it need not be made first."""
    if record.written_as is kind.storage and kind.stored_as_served:
        return record.value
    return record.views.get(kind) if record.views is not None else None


async def view(kind: ServedKind, record: Record) -> bytes:
    """A record's JSON in a version."""
    if record.written_as is kind.storage and kind.stored_as_served:
        return record.value
    return (await views(kind, [record]))[0]


async def views(kind: ServedKind, records: Sequence[Record]) -> list[bytes]:
    """The JSON of many records in a version: what must be converted is converted together.

    What a webhook made is not kept: the next time it may have learned to do better.
    """
    keep = kind.stored_as_served or kind.storage.converter is None
    found = [ready_view(kind, record) if keep else None for record in records]
    missing = [position for position, value in enumerate(found) if value is None]
    if missing:
        made = await _made(kind, [records[position] for position in missing])
        for position, value in zip(missing, made, strict=True):
            found[position] = value
            if keep:
                _keep(kind, records[position], value)
    return [value for value in found if value is not None]


async def prepare_views(kind: ServedKind, records: Sequence[Record]) -> None:
    """Make `ready_view` find these records: an event is converted once for all who watch."""
    missing = [record for record in records if ready_view(kind, record) is None]
    if missing:
        for record, value in zip(missing, await _made(kind, missing), strict=True):
            _keep(kind, record, value)


async def _made(kind: ServedKind, records: Sequence[Record]) -> list[bytes]:
    objects = await _converted(kind, [_restored(kind.storage, record) for record in records])
    return [encode({"apiVersion": obj["apiVersion"], "kind": obj["kind"], **obj}) for obj in objects]


def _keep(kind: ServedKind, record: Record, value: bytes) -> None:
    if record.views is None:
        record.views = {}
    record.views[kind] = value


async def served(kind: ServedKind, record: Record) -> Object:
    """A record's object in a version; the caller owns it."""
    return decode(await view(kind, record))


async def stored(kind: ServedKind, obj: Object) -> Object:
    """An object of a served version in the version in which it is stored."""
    if kind.stored_as_served:
        return obj
    return (await _convert(kind.storage, [obj], kind.storage.gvk.group_version))[0]


def record(kind: ServedKind, key: str, revision: int, obj: Object) -> Record:
    """What is written; `obj` is in the stored version. Its JSON begins with `ServedKind.head`."""
    obj = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **obj}
    # What came in another version has not seen the defaults of the stored one: it gets them whenever it is read.
    shaped = kind.stored_as_served or not kind.custom
    return record_from_object(kind.storage.group_resource, key, revision, obj, kind.storage if shaped else None)


def _restored(storage: StorageKind, record: Record) -> Object:
    """A stored object, as the definition now in force sees it."""
    obj = decode(record.value)
    if record.written_as is not storage and storage.home is not None:
        storage.home.intake.shape(obj)
    return obj


async def _converted(kind: ServedKind, objects: list[Object]) -> list[Object]:
    if kind.stored_as_served:
        return objects
    converted = await _convert(kind.storage, objects, kind.gvk.group_version)
    for obj in converted:
        kind.intake.shape(obj, converted=True)
    return converted


async def _convert(storage: StorageKind, objects: list[Object], to: GroupVersion) -> list[Object]:
    if storage.converter is not None:
        return await storage.converter.convert(objects, to)
    for obj in objects:
        obj["apiVersion"] = str(to)
    return objects
