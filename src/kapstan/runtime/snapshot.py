"""Snapshot: one object as the API server sent it, at one resourceVersion: its JSON bytes and what indexes need of it.

Only the metadata is looked at when it arrives, which costs a fraction of decoding. Whoever wants the object decodes
the bytes and gets one of its own, to change as it likes. managedFields are cut out of the bytes, since they are often
half of an object and hardly any operator reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from kapstan.client.interface import Kind, MetadataOf, PartialObjectMetadata
from kapstan.machinery.codec import decode, decode_any, encode
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupVersion, GroupVersionKind, ObjectKey

__all__ = ("Malformed", "Owner", "Snapshot", "is_newer")

T = TypeVar("T")


class Malformed(KapstanError):
    """Bytes from the API server that are not the object they should be."""


class Owner(NamedTuple):
    """An owner reference, as far as finding the owner needs it."""

    group: str
    kind: str
    name: str
    uid: str
    controller: bool


class Snapshot(Struct, gc=False, eq=False, frozen=True):
    """An object's bytes and the small part of it that indexes, handlers and predicates look at."""

    key: ObjectKey
    uid: str
    resource_version: str
    generation: int
    deleting: bool
    labels: Mapping[str, str]
    owner_uids: tuple[str, ...]
    data: bytes

    @classmethod
    def of(cls, data: bytes, *, managed_fields: bool = False) -> Snapshot:
        """Look at an object's bytes; unless asked to keep them, its managedFields are cut out."""
        try:
            meta = _decode_peek(data).metadata
        except msgspec.MsgspecError as error:
            raise Malformed(f"the API server sent something that is no object: {error}") from error
        if not managed_fields and (value := bytes(meta.managed_fields)):
            data = _without_managed_fields(data, value)
        owners = meta.owner_references
        return cls(
            ObjectKey(_shared(meta.namespace), meta.name),
            meta.uid,
            meta.resource_version,
            meta.generation,
            meta.deletion_timestamp is not None,
            _with_shared_texts(meta.labels) if meta.labels else _NO_LABELS,
            tuple([owner.uid for owner in owners]) if owners else (),
            data,
        )

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def namespace(self) -> str:
        return self.key.namespace

    def decode(self, kind: Kind[Any]) -> Any:
        """The object itself, new each time: typed, a dictionary, or its metadata, after what names the kind."""
        if isinstance(kind, GroupVersionKind):
            return _with_kind(decode_any(self.data), kind)
        target = PartialObjectMetadata if isinstance(kind, MetadataOf) else kind
        try:
            obj = decode(self.data, target)
        except msgspec.ValidationError as error:
            raise Malformed(f"{self.key} does not fit {target.__qualname__}: {error}") from error
        if isinstance(kind, MetadataOf):  # what it is the metadata of is of more use than that it is metadata
            obj.api_version, obj.kind = kind.gvk.api_version, kind.gvk.kind
        return obj

    def owners(self) -> list[Owner]:
        """Its owner references."""
        references = _decode_peek(self.data).metadata.owner_references or ()
        return [
            Owner(GroupVersion.parse(ref.api_version).group, ref.kind, ref.name, ref.uid, bool(ref.controller))
            for ref in references
        ]

    def annotations(self) -> Mapping[str, str]:
        return _decode_more(self.data).metadata.annotations or _NO_LABELS

    def finished(self) -> bool:
        """Whether nothing holds up its deletion: what a write that took the last finalizer away is answered with."""
        if not self.deleting:
            return False
        meta = _decode_more(self.data).metadata
        return not meta.finalizers and not meta.deletion_grace_period_seconds


def is_newer(resource_version: str, than: str) -> bool:
    """Whether one resourceVersion is known to come after another. Kubernetes lets them be compared as numbers; of a
    server whose versions are none, nothing is known."""
    try:
        return int(resource_version) > int(than)
    except ValueError:
        return False


class _Reference(Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(Struct, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    owner_references: list[_Reference] | None = None
    managed_fields: Raw = Raw(b"")


class _Peek(Struct, gc=False):
    metadata: _Metadata


class _MoreMetadata(Struct, rename="camel", gc=False):
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion_grace_period_seconds: int | None = None


class _More(Struct, gc=False):
    metadata: _MoreMetadata


_decode_peek = msgspec.json.Decoder(_Peek).decode
_decode_more = msgspec.json.Decoder(_More).decode
_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_MANAGED_FIELDS = b'"managedFields":'


# Texts that repeat over thousands of objects, each kept once. Not `sys.intern`, which some Pythons never forget.
_TEXTS: dict[str, str] = {}
_MOST_TEXTS = 10_000


def _shared(text: str) -> str:
    if len(_TEXTS) >= _MOST_TEXTS:
        _TEXTS.clear()
    return _TEXTS.setdefault(text, text)


def _with_shared_texts(labels: dict[str, str]) -> dict[str, str]:
    return {_shared(key): _shared(value) for key, value in labels.items()}


def _without_managed_fields(data: bytes, value: bytes) -> bytes:
    """Cut them out where they stand.

    The quotes of the key cannot be inside a text, for there they would be escaped. Where another field has the same
    name, or somebody wrote JSON with spaces, the object is decoded and encoded again instead.
    """
    start = data.find(_MANAGED_FIELDS)
    end = start + len(_MANAGED_FIELDS) + len(value)
    if start > 0 and data[end - len(value) : end] == value and data.count(_MANAGED_FIELDS) == 1:
        if data[start - 1 : start] == b",":
            return data[: start - 1] + data[end:]
        if data[end : end + 1] == b",":
            return data[:start] + data[end + 1 :]
    obj = decode_any(data)
    obj["metadata"].pop("managedFields", None)
    return encode(obj)


def _with_kind(obj: dict[str, Any], gvk: GroupVersionKind) -> dict[str, Any]:
    """Items of a list come without their kind."""
    if obj.get("kind"):
        return obj
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **obj}
