"""Defaulting: a schema's defaults fill what an object leaves out, at every depth where the parent exists.

A Defaulter is the part of a schema that holds defaults; the rest costs nothing.
"""

from __future__ import annotations

import copy
from typing import Any

from kapstan.machinery.schema import Schema

__all__ = ("Defaulter", "compile_defaulter")


class Defaulter:
    """Defaults of one node and of what is below it."""

    __slots__ = ("_additional", "_additional_value", "_declared", "_defaults", "_items", "_items_value", "_properties")

    def __init__(self, schema: Schema) -> None:
        self._defaults = [
            (name, child.default, child.nullable)
            for name, child in schema.properties.items()
            if child.default is not None
        ]
        self._declared = schema.properties.keys()
        self._properties: dict[str, Defaulter] = {}
        self._additional: Defaulter | None = None
        self._additional_value = _null_replacement(schema.additional)
        self._items: Defaulter | None = None
        self._items_value = _null_replacement(schema.items)

    @property
    def is_empty(self) -> bool:
        values = (self._defaults, self._properties, self._additional, self._items)
        return not any(values) and self._additional_value is None and self._items_value is None

    def apply(self, value: Any) -> None:
        """Fill in place."""
        if type(value) is dict:
            for name, default, nullable in self._defaults:
                if name not in value or (value[name] is None and not nullable):
                    value[name] = _copy(default)
            self._apply_below(value)
        elif type(value) is list and (self._items is not None or self._items_value is not None):
            for position, item in enumerate(value):
                if item is None and self._items_value is not None:
                    item = value[position] = _copy(self._items_value)
                if self._items is not None:
                    self._items.apply(item)

    def _apply_below(self, value: dict[str, Any]) -> None:
        if self._additional is not None or self._additional_value is not None:
            for key, item in value.items():
                if key in self._declared:
                    continue
                if item is None and self._additional_value is not None:
                    item = value[key] = _copy(self._additional_value)
                if self._additional is not None:
                    self._additional.apply(item)
        for name, defaulter in self._properties.items():
            item = value.get(name)
            if item is not None:
                defaulter.apply(item)


def compile_defaulter(schema: Schema) -> Defaulter | None:
    """The defaults of a schema; None if it has none."""
    return _compile(schema, {})


def _compile(schema: Schema, seen: dict[int, Defaulter]) -> Defaulter | None:
    known = seen.get(id(schema))
    if known is not None:  # a recursive definition
        return known
    defaulter = seen[id(schema)] = Defaulter(schema)
    for name, child in schema.properties.items():
        if (below := _compile(child, seen)) is not None:
            defaulter._properties[name] = below
    if isinstance(schema.additional, Schema):
        defaulter._additional = _compile(schema.additional, seen)
    if schema.items is not None:
        defaulter._items = _compile(schema.items, seen)
    if defaulter.is_empty:
        del seen[id(schema)]
        return None
    return defaulter


def _null_replacement(schema: Schema | bool | None) -> Any:
    """What a null in a map or list becomes where null is not allowed: the default of the values."""
    return schema.default if isinstance(schema, Schema) and not schema.nullable else None


def _copy(default: Any) -> Any:
    return copy.deepcopy(default) if isinstance(default, dict | list) else default
