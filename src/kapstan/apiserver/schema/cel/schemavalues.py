"""Values of schemas: JSON as expressions see it, converted when it is read.

Fields of objects that are null count as absent. Sets and keyed lists are equal in any order, and adding to them
merges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kapstan.apiserver.schema.cel.values import ListValue, MapValue, equal, no_such_overload
from kapstan.apiserver.schema.keywords import deep_equal
from kapstan.machinery.golang import to_json

__all__ = ("KeyedList", "ListOf", "MapOf", "ObjectValue", "SetList", "Shape")

Convert = Callable[[Any], Any]


class Shape:
    """The fields of a declared object: by identifier, the property and how to read it."""

    __slots__ = ("identifiers", "readers")

    def __init__(self, readers: Mapping[str, tuple[str, Convert]]) -> None:
        self.readers = readers
        self.identifiers = {property: identifier for identifier, (property, _) in readers.items()}


class ObjectValue(MapValue):
    """An object with declared fields."""

    __slots__ = ("_raw", "_shape")

    def __init__(self, raw: dict[str, Any], shape: Shape) -> None:
        self._raw = raw
        self._shape = shape

    def find(self, key: Any) -> tuple[bool, Any]:
        reader = self._shape.readers.get(key)
        if reader is None:
            if type(key) is not str:
                raise no_such_overload()
            return False, None
        value = self._raw.get(reader[0])
        return (False, None) if value is None else (True, reader[1](value))

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[str]:
        identifiers = self._shape.identifiers
        return (identifiers[property] for property in self._raw if property in identifiers)

    def equals(self, other: Any) -> bool:
        if len(self) != len(other):
            return False
        for property, raw in self._raw.items():
            identifier = self._shape.identifiers.get(property)
            if identifier is None:
                unknown = isinstance(other, ObjectValue) and property in other._raw
                if unknown and not deep_equal(raw, other._raw[property]):
                    return False
                continue
            found, value = self.find(identifier)
            there, other_value = other.find(identifier) if isinstance(other, MapValue) else _find(other, identifier)
            if found is not there or (found and not equal(value, other_value)):
                return False
        return True


def _find(mapping: Mapping[Any, Any], key: Any) -> tuple[bool, Any]:
    return (True, mapping[key]) if key in mapping else (False, None)


class MapOf(MapValue):
    """A map whose values have a schema."""

    __slots__ = ("_convert", "_raw")

    def __init__(self, raw: dict[str, Any], convert: Convert) -> None:
        self._raw = raw
        self._convert = convert

    def find(self, key: Any) -> tuple[bool, Any]:
        if type(key) is not str:
            raise no_such_overload()
        return (True, self._convert(self._raw[key])) if key in self._raw else (False, None)

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def equals(self, other: Any) -> bool:
        if len(self) != len(other):
            return False
        for key, raw in self._raw.items():
            found, value = other.find(key) if isinstance(other, MapValue) else _find(other, key)
            if not found or not equal(self._convert(raw), value):
                return False
        return True


class ListOf(ListValue):
    """A list whose items have a schema."""

    __slots__ = ("_convert", "raw")

    def __init__(self, raw: list[Any], convert: Convert) -> None:
        self.raw = raw
        self._convert = convert

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, position: int) -> Any:
        return self._convert(self.raw[position])

    def __iter__(self) -> Iterator[Any]:
        return map(self._convert, self.raw)


class SetList(ListOf):
    """A list of which the order does not matter, and no item is there twice."""

    __slots__ = ()

    def equals(self, other: Any) -> bool:
        if len(self) != len(other):
            return False
        mine = {to_json(item) for item in self.raw}
        return all(item in mine for item in map(to_json, _raw_items(other)))

    def plus(self, other: Any) -> Any:
        seen = {to_json(item) for item in self.raw}
        added = [item for item in _raw_items(other) if to_json(item) not in seen]
        return SetList([*self.raw, *added], self._convert)


class KeyedList(ListOf):
    """A list whose items are known by keys, and of which the order does not matter."""

    __slots__ = ("_names",)

    def __init__(self, raw: list[Any], convert: Convert, names: Sequence[str]) -> None:
        super().__init__(raw, convert)
        self._names = names

    def _key(self, item: Any) -> str:
        return to_json([item.get(name) for name in self._names] if isinstance(item, dict) else [item])

    def equals(self, other: Any) -> bool:
        if len(self) != len(other):
            return False
        mine = {self._key(item): item for item in self.raw}
        for raw, value in zip(_raw_items(other), other, strict=True):
            item = mine.get(self._key(raw))
            if item is None or not equal(self._convert(item), value):
                return False
        return True

    def plus(self, other: Any) -> Any:
        merged = {self._key(item): item for item in self.raw}
        merged.update((self._key(item), item) for item in _raw_items(other))
        return KeyedList(list(merged.values()), self._convert, self._names)


def _raw_items(value: Any) -> list[Any]:
    return value.raw if isinstance(value, ListOf) else list(value)
