"""Shapes: how the objects of a kind look in Python, and how they are asked for and decoded.

A class gives typed objects, a GroupVersionKind plain dictionaries, `metadata_of` the metadata alone. Everything that
depends on which of the three it is, is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from kapstan.client.errors import UnexpectedAnswer
from kapstan.client.interface import Kind, MetadataOf, Object, ObjectList, PartialObjectMetadata, gvk_of
from kapstan.machinery.codec import convert, decode, decode_any
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import ListMeta
from kapstan.machinery.model import Resource

__all__ = ("DictShape", "MetadataShape", "RawEvent", "RawList", "Shape", "TypedShape", "shape_of", "shape_of_object")

T = TypeVar("T")
Data: TypeAlias = bytes | memoryview | msgspec.Raw

_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class RawList(Struct, rename="camel", kw_only=True):
    """A list whose items are left as the JSON that they are. They share its memory: copy what shall stay."""

    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    items: list[msgspec.Raw] = field(default_factory=list)


class RawEvent(Struct):
    """An event of a watch whose object is left as the JSON that it is."""

    type: str
    object: msgspec.Raw


class _List(Struct, Generic[T]):
    metadata: ListMeta = field(default_factory=ListMeta)
    items: list[T] = field(default_factory=list)


class Shape(ABC):
    """What the objects of a kind are in Python."""

    accept = _JSON
    accept_list = _JSON

    def __init__(self, gvk: GroupVersionKind) -> None:
        self.gvk = gvk

    @abstractmethod
    def one(self, data: Data) -> Any:
        """An object from its JSON."""

    @abstractmethod
    def many(self, data: Data) -> ObjectList[Any]:
        """A list from its JSON."""


class TypedShape(Shape):
    """Objects of a class."""

    def __init__(self, cls: type[Resource]) -> None:
        super().__init__(gvk_of(cls))
        self._cls = cls
        self._list = _List[cls]  # type: ignore[valid-type]

    def one(self, data: Data) -> Any:
        obj = decode(data, self._cls)
        if obj.kind != self.gvk.kind:
            raise UnexpectedAnswer(
                f"a {obj.kind} came where a {self.gvk.kind} was expected; ask for it as a dictionary"
            )
        return obj

    def many(self, data: Data) -> ObjectList[Any]:
        listed = decode(data, self._list)
        return _object_list(listed.items, listed.metadata)


class DictShape(Shape):
    """Objects as plain dictionaries."""

    def one(self, data: Data) -> Any:
        return decode_any(data)

    def many(self, data: Data) -> ObjectList[Any]:
        listed = decode_any(data)
        own = {"apiVersion": self.gvk.api_version, "kind": self.gvk.kind}  # items of a list come without
        items = [own | item for item in listed.get("items") or ()]
        return _object_list(items, convert(listed.get("metadata") or {}, ListMeta))


class MetadataShape(Shape):
    """The metadata alone."""

    accept = f"{_METADATA},{_JSON}"
    accept_list = f"{_METADATA_LIST},{_JSON}"

    def one(self, data: Data) -> Any:
        return self._named(decode(data, PartialObjectMetadata))

    def many(self, data: Data) -> ObjectList[Any]:
        listed = decode(data, _List[PartialObjectMetadata])
        return _object_list([self._named(item) for item in listed.items], listed.metadata)

    def _named(self, obj: PartialObjectMetadata) -> PartialObjectMetadata:
        """On the wire its kind is PartialObjectMetadata; what it is the metadata of is of more use."""
        obj.api_version, obj.kind = self.gvk.api_version, self.gvk.kind
        return obj


_SHAPES: dict[Any, Shape] = {}


def shape_of(kind: Kind[Any]) -> Shape:
    """How the objects of a kind are to be returned."""
    found = _SHAPES.get(kind)
    if found is None:
        found = _SHAPES[kind] = _new_shape(kind)
    return found


def _new_shape(kind: Kind[Any]) -> Shape:
    if isinstance(kind, GroupVersionKind):
        return DictShape(kind)
    if isinstance(kind, MetadataOf):
        return MetadataShape(kind.gvk)
    return TypedShape(kind)


def shape_of_object(obj: Object) -> Shape:
    """What comes back when this object is written: the same as it is."""
    if isinstance(obj, dict):
        return shape_of(gvk_of(obj))
    if isinstance(obj, PartialObjectMetadata):
        return shape_of(MetadataOf(obj.gvk))
    return shape_of(type(obj))


def _object_list(items: list[Any], metadata: ListMeta) -> ObjectList[Any]:
    return ObjectList(
        items,
        resource_version=metadata.resource_version,
        continue_token=metadata.continue_,
        remaining=metadata.remaining_item_count,
    )
