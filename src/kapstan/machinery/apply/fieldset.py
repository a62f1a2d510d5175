"""Values and field sets: which fields a value has, and what of a set a type makes whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapstan.machinery.apply.fieldpath import LEAF, SELF, Fields, in_order, with_self
from kapstan.machinery.apply.types import Atom, ListType, MapType, ScalarType, TypedError

__all__ = ("fields_of", "reconcile", "with_named_fields")


def fields_of(atom: Atom, value: Any) -> Fields:
    """Every field that a value mentions: leaves, elements of lists, and keys of maps.

    Objects are not fields of their own: who mentions a part does not own the whole.
    """
    return _below(atom.of(value), value) or {}


def _below(kind: ScalarType | ListType | MapType, value: Any) -> Fields | None:
    """What is below an element with this value: LEAF if the element itself is a field, None if nothing is."""
    if isinstance(kind, ScalarType) or kind.atomic:
        return LEAF
    if isinstance(kind, MapType):
        return _map_fields(kind, value) if type(value) is dict else None
    return _list_fields(kind, value) if type(value) is list else None


def _map_fields(kind: MapType, value: dict[str, Any]) -> Fields | None:
    declared, element = kind.fields, kind.element
    found: Fields = {}
    for name in sorted(value) if len(value) > 1 else value:
        part = value[name]
        atom = declared.get(name)
        if atom is not None and atom.leaf:
            below: Fields | None = LEAF
        elif atom is not None:
            below = _below(atom.only or atom.of(part), part)
            if below is None and (part is None or part == {}):
                below = LEAF
        elif element is not None:
            below = with_self(_below(element.only or element.of(part), part) or LEAF)
        else:
            raise TypedError(f".{name}: field not declared in schema")
        if below is not None:
            found["f:" + name] = below
    return found or None


def _list_fields(kind: ListType, items: list[Any]) -> Fields | None:
    """Elements are fields of their own. Of several with one name, only the name is."""
    element = kind.element
    found: Fields = {}
    for item in items:
        name = kind.path_element(item)
        if name in found:
            found[name] = LEAF
        else:
            found[name] = with_self(_below(element.only or element.of(item), item) or LEAF)
    return in_order(found) if len(found) > 1 else found or None


def with_named_fields(fields: Fields, atom: Atom | None) -> Fields:
    """The set, with every declared field of an object that has something below it.

    Removing the set from a value then also removes the objects that are empty after that.
    """
    declared = atom.map.fields if atom is not None and atom.map is not None else {}
    result = fields
    for element, below in fields.items():
        if not below:
            continue
        named = with_named_fields(below, _type_below(atom, element))
        if SELF not in named and element[2:] in declared and element[0] == "f":
            named = {SELF: LEAF, **named}
        if named is not below:
            if result is fields:
                result = fields.copy()
            result[element] = named
    return result


def _type_below(atom: Atom | None, element: str) -> Atom | None:
    if atom is None:
        return None
    if element[0] == "f":
        return atom.map.fields.get(element[2:], atom.map.element) if atom.map is not None else None
    if element[0] == "k" and atom.list is not None:
        return atom.list.element
    return None


def reconcile(fields: Fields, atom: Atom) -> Fields:
    """The set, after the type has changed: who owned parts of what is atomic now owns the whole."""
    if atom.map is not None:
        if atom.map.untyped:
            return fields
        return _reconciled(fields, ((name, _type_below(atom, name)) for name in fields))
    if atom.scalar is None and atom.list is not None:
        return _reconciled(fields, ((name, atom.list.element) for name in fields))
    return fields


def _reconciled(fields: Fields, types: Iterable[tuple[str, Atom | None]]) -> Fields:
    result = fields
    for element, atom in types:
        below = fields[element]
        if not below or atom is None or element == SELF:
            continue
        reconciled = LEAF if _is_atomic(atom) else reconcile(below, atom)
        if reconciled is not below:
            if result is fields:
                result = fields.copy()
            result[element] = reconciled
    return result


def _is_atomic(atom: Atom) -> bool:
    if atom.map is not None:
        return atom.map.atomic and not atom.map.untyped
    return atom.scalar is None and atom.list is not None and atom.list.atomic
