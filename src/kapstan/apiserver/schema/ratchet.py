"""Ratcheting: on an update, what was wrong before and did not change is tolerated.

A Correlated pairs a new value with the old one at the same place. Items of lists are paired only where
`x-kubernetes-list-type: map` says which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kapstan.apiserver.schema.keywords import deep_equal
from kapstan.machinery.schema import Schema

__all__ = ("Correlated", "keyed_items")


class Correlated:
    """A new value, the old value in its place, and the schema of both."""

    __slots__ = ("_children", "_equal", "_old_items", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._equal: bool | None = None
        self._children: dict[str | int, Correlated] = {}
        self._old_items: Callable[[Any], Any] | None = None

    def key(self, name: str) -> Correlated | None:
        """The value of a field; None if it is new or the schema does not know it."""
        child = self._children.get(name)
        if child is None and type(self.new) is dict and type(self.old) is dict:
            schema = self.schema.property(name)
            if schema is not None and name in self.new and name in self.old:
                child = self._children[name] = Correlated(self.new[name], self.old[name], schema)
        return child

    def index(self, position: int) -> Correlated | None:
        """The value of a list's item; None if there was none with its keys."""
        child = self._children.get(position)
        if child is None and type(self.new) is list and type(self.old) is list and self.schema.items is not None:
            old = self._old_item(self.new[position])
            if old is not None:
                child = self._children[position] = Correlated(self.new[position], old, self.schema.items)
        return child

    def _old_item(self, item: Any) -> Any:
        if self._old_items is None:
            self._old_items = keyed_items(self.schema, self.old)
        return self._old_items(item)

    def unchanged(self) -> bool:
        """Whether new and old are equal; lists of type map may be in any order."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if type(new) is list and type(old) is list:
            if len(new) != len(old):
                return False
            if self.schema.list_type != "map" or not old:
                return deep_equal(new, old)
            children = [self.index(position) for position in range(len(new))]
            return all(child is not None and child.unchanged() for child in children)
        if type(new) is dict and type(old) is dict:
            if len(new) != len(old):
                return False
            fields = [self.key(name) for name in new]
            return all(child is not None and child.unchanged() for child in fields)
        return deep_equal(new, old)


def keyed_items(schema: Schema, items: Sequence[Any] | None) -> Callable[[Any], Any]:
    """A function that finds the item of a list of type map with the same keys as a given one; None if there is none."""
    if schema.list_type != "map" or not schema.list_map_keys or not items or schema.type != "array":
        return lambda item: None
    names = schema.list_map_keys

    def identity(item: Any) -> tuple[Any, ...] | None:
        if type(item) is not dict:
            return None
        values = [item.get(name) for name in names]
        if any(type(value) not in (str, int, float, bool) for value in values):
            return None
        return tuple((type(value), value) for value in values)

    found: dict[tuple[Any, ...], Any] = {}
    for item in items:
        key = identity(item)
        if key is not None:
            found.setdefault(key, item)
    return lambda item: found.get(identity(item) or ())
