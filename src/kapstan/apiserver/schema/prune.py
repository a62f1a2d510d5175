"""Pruning: what a schema does not know is dropped, and so are nulls that it does not allow.

Objects change in place. `apiVersion`, `kind` and `metadata` of a resource, at the root or embedded, are never pruned
here: `coerce` looks after them.
"""

from __future__ import annotations

from typing import Any

from kapstan.machinery.schema import Schema

__all__ = ("META_FIELDS", "prune")

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
_MOST_TEXT = 1 << 23  # of the paths that are told


def prune(value: Any, schema: Schema, *, resource_root: bool = True, nulls: bool = True) -> list[str]:
    """Drop unknown fields and, unless told otherwise, forbidden nulls; returns the unknown paths, sorted."""
    dropped = _Dropped(nulls)
    if resource_root and type(value) is dict:
        _prune_object(value, schema, "", dropped, resource=True, keep=schema.preserve_unknown)
    else:
        _prune(value, schema, "", dropped)
    dropped.sort()
    return dropped


class _Dropped(list[str]):
    """The paths of unknown fields, and whether forbidden nulls go, too."""

    def __init__(self, nulls: bool) -> None:
        super().__init__()
        self.nulls = nulls
        self._room = _MOST_TEXT

    def add(self, path: str, key: str) -> None:
        """Not without end: many fields below a long name have much longer paths than the object is long."""
        if self._room > 0:
            found = f"{path}.{key}" if path else key
            self._room -= len(found)
            self.append(found)


def _prune(value: Any, schema: Schema | None, path: str, dropped: _Dropped, *, keep: bool = False) -> None:
    """`keep` says that the list around the value keeps what is unknown, and so does the value."""
    if schema is None:
        if not keep:
            _prune_all(value, path, dropped)
    elif _is_opaque(schema):
        return
    elif type(value) is dict:
        keep = keep or schema.preserve_unknown
        _prune_object(value, schema, path, dropped, resource=schema.embedded_resource, keep=keep)
    elif type(value) is list:
        keep = keep or schema.preserve_unknown
        for position, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(item, schema.items, f"{path}[{position}]", dropped, keep=keep)


def _prune_object(
    value: dict[str, Any], schema: Schema, path: str, dropped: _Dropped, *, resource: bool, keep: bool
) -> None:
    properties, additional = schema.properties, schema.additional
    unwanted: list[str] = []
    for key, item in value.items():
        child = properties.get(key)
        if child is None:
            if resource and key in META_FIELDS:
                continue
            if additional is None:
                if not keep:
                    unwanted.append(key)
                    dropped.add(path, key)
                continue
            child = additional if isinstance(additional, Schema) else None
        elif resource and key in META_FIELDS:
            if dropped.nulls:
                _drop_nulls(item, child)
            continue
        if item is None:
            if dropped.nulls and _forbids_null(child):
                unwanted.append(key)
        elif type(item) is dict or type(item) is list:
            _prune(item, child, f"{path}.{key}" if path else key, dropped)
    for key in unwanted:
        del value[key]


def _prune_all(value: Any, path: str, dropped: _Dropped) -> None:
    """Nothing is known about the value: its objects become empty."""
    if type(value) is dict:
        for key in value:
            dropped.add(path, key)
        value.clear()
    elif type(value) is list:
        for position, item in enumerate(value):
            _prune_all(item, f"{path}[{position}]", dropped)


def _is_opaque(schema: Schema) -> bool:
    """A built-in definition that says nothing of its content, such as RawExtension, holds anything."""
    return bool(schema.ref) and not schema.properties and schema.additional is None and schema.items is None


def _forbids_null(schema: Schema | None) -> bool:
    """Null is dropped where it is not allowed; where there is a default, defaulting replaces it."""
    return schema is not None and not schema.nullable and schema.default is None


def _drop_nulls(value: Any, schema: Schema | None) -> None:
    """Drop forbidden nulls, and nothing else."""
    if type(value) is list:
        for item in value:
            _drop_nulls(item, schema.items if schema is not None else None)
    elif type(value) is dict:
        for key in list(value):
            child = schema.property(key) if schema is not None else None
            if value[key] is None and _forbids_null(child):
                del value[key]
            else:
                _drop_nulls(value[key], child)
