"""Removing fields from a value, or keeping only those."""

from __future__ import annotations

from typing import Any

from kapstan.machinery.apply.fieldpath import LEAF, SELF, Fields
from kapstan.machinery.apply.types import Atom, ListType, MapType

__all__ = ("extract", "remove")


def remove(atom: Atom, value: Any, fields: Fields) -> Any:
    """The value without these fields. What is emptied by it becomes null, as in Kubernetes."""
    kind = atom.of(value)
    if isinstance(kind, MapType):
        return _remove_from_map(kind, value, fields) if type(value) is dict and value and not kind.atomic else None
    if isinstance(kind, ListType):
        return _remove_from_list(kind, value, fields) if type(value) is list and value and not kind.atomic else None
    return value


def _remove_from_map(kind: MapType, value: dict[str, Any], fields: Fields) -> dict[str, Any] | None:
    result = value
    for element, below in fields.items():
        name = element[2:]
        if element[0] != "f" or name not in value:
            continue
        if result is value:
            result = value.copy()
        if not below or SELF in below:
            del result[name]
        else:
            atom = kind.fields.get(name) or kind.element
            result[name] = remove(atom, value[name], below) if atom is not None else value[name]
    return result or None


def _remove_from_list(kind: ListType, items: list[Any], fields: Fields) -> list[Any] | None:
    result: list[Any] = []
    changed = False
    for item in items:
        below = fields.get(kind.path_element(item))
        if below is None:
            result.append(item)
            continue
        changed = True
        if below and SELF not in below:
            result.append(remove(kind.element, item, below))
    return (result or None) if changed else items


def extract(atom: Atom, value: Any, fields: Fields) -> Any:
    """The value with these fields alone. Of an element of a list, its keys are there only if they are in the set."""
    kind = atom.of(value)
    if isinstance(kind, MapType):
        if type(value) is not dict:
            return None
        return _extract_from_map(kind, value, fields) if value and not kind.atomic else value
    if isinstance(kind, ListType):
        if type(value) is not list:
            return None
        return _extract_from_list(kind, value, fields) if value and not kind.atomic else value
    return value


def _extract_from_map(kind: MapType, value: dict[str, Any], fields: Fields) -> dict[str, Any] | None:
    result: dict[str, Any] = {}
    for name, part in value.items():
        below = fields.get(f"f:{name}")
        if below is None:
            continue
        atom = kind.fields.get(name) or kind.element
        # Kubernetes looks below a field that is in the set with the set that the field is in.
        within = fields if not below or SELF in below else below
        result[name] = extract(atom, part, within) if atom is not None else part
    return result or None


def _extract_from_list(kind: ListType, items: list[Any], fields: Fields) -> list[Any] | None:
    found = ((item, fields.get(kind.path_element(item))) for item in items)
    kept = [
        item if below is LEAF or not below else extract(kind.element, item, below)
        for item, below in found
        if below is not None
    ]
    return kept or None
