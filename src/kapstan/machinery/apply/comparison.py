"""What differs between two values of one type: fields added, modified and removed.

Parts that are the same object, or equal, are not looked into: most writes change little of what they write.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kapstan.machinery.apply.fieldpath import LEAF, SELF, Fields, in_order, union, with_self
from kapstan.machinery.apply.types import Atom, ListType, MapType, ScalarType, TypedError
from kapstan.machinery.codec import encode

__all__ = ("Comparison", "compare", "equal")

_ABSENT: Any = object()


class Comparison(NamedTuple):
    """No field is in more than one of the three."""

    added: Fields
    modified: Fields
    removed: Fields


class _Changes:
    """What was found so far, below one element."""

    __slots__ = ("added", "literal", "modified", "removed")

    def __init__(self, literal: bool) -> None:
        self.added: Fields = {}
        self.modified: Fields = {}
        self.removed: Fields = {}
        self.literal = literal


def compare(atom: Atom, old: Any, new: Any, *, literal: bool = False) -> Comparison:
    """How `new` differs from `old`; TypedError if what differs does not fit the type.

    With `literal`, parts that are new have only the fields that they show, none that Go would have added.
    """
    found = _Changes(literal)
    _compare(atom, old, new, "", found)
    return Comparison(_root(found.added), _root(found.modified), _root(found.removed))


def _root(found: Fields) -> Fields:
    """The set as such: nobody owns the whole object."""
    below: Fields = found.get("", LEAF)
    return {name: part for name, part in below.items() if name != SELF} if SELF in below else below


def equal(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1, as it is in Python; 1 is 1.0."""
    if left is right:
        return True
    if left != right:
        return False
    if left.__class__ is str:
        return True
    return encode(left) == encode(right) or _equal(left, right)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _compare(atom: Atom, old: Any, new: Any, name: str, found: _Changes) -> None:
    """Compare two values that are both there."""
    before, after = atom.only or atom.of(old), atom.only or atom.of(new)
    _compare_as(before, old, new, name, found)
    if after is not before:
        _compare_as(after, old, new, name, found)


def _compare_as(kind: ScalarType | ListType | MapType, old: Any, new: Any, name: str, found: _Changes) -> None:
    """Compare two values as if both were of this kind; one that is not is taken for null."""
    inside: _Changes | None = None
    if isinstance(kind, MapType) and not kind.atomic:
        before, after = old if type(old) is dict else {}, new if type(new) is dict else {}
        if before or after:
            _compare_maps(kind, before, after, inside := _Changes(found.literal))
    elif isinstance(kind, ListType) and not kind.atomic:
        previous, items = old if type(old) is list else [], new if type(new) is list else []
        if previous or items:
            _compare_lists(kind, previous, items, inside := _Changes(found.literal))
    if inside is not None:
        if inside.added:
            _add(found.added, name, _in_order(inside.added))
        if inside.modified:
            _add(found.modified, name, _in_order(inside.modified))
        if inside.removed:
            _add(found.removed, name, _in_order(inside.removed))
    elif not equal(old, new):
        _add(found.modified, name, LEAF)


def _add(changes: Fields, name: str, below: Fields) -> None:
    """Put what is below an element into a set; it may be there already, where a value changed its kind."""
    present = changes.get(name)
    if present is None:
        changes[name] = below
    elif not present or not below:
        changes[name] = with_self(present or below)
    else:
        changes[name] = union(present, below)


def _in_order(changes: Fields) -> Fields:
    return in_order(changes) if len(changes) > 1 else changes


def _compare_maps(kind: MapType, old: dict[str, Any], new: dict[str, Any], found: _Changes) -> None:
    zero = kind.zero
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before is value:
            continue
        atom = kind.fields.get(name) or kind.element
        if before is _ABSENT and name in zero:
            before = zero[name]
        if before == value if atom is None or atom.exact else equal(before, value):
            continue
        if atom is None:
            raise _undeclared(name)
        if before is _ABSENT:
            found.added["f:" + name] = _whole(atom, value, found.literal)
        else:
            _compare(atom, before, value, "f:" + name, found)
    if len(old) == len(new) and old.keys() == new.keys():
        return
    for name, value in old.items():
        if name not in new:
            atom = _field(kind, name)
            if name in zero:
                _compare(atom, value, zero[name], "f:" + name, found)
            else:
                found.removed["f:" + name] = _whole(atom, value)


def _field(kind: MapType, name: str) -> Atom:
    atom = kind.fields.get(name) or kind.element
    if atom is None:
        raise _undeclared(name)
    return atom


def _undeclared(name: str) -> TypedError:
    return TypedError(f".{name}: field not declared in schema")


def _compare_lists(kind: ListType, old: list[Any], new: list[Any], found: _Changes) -> None:
    before, after = _by_name(kind, old), _by_name(kind, new)
    exact = kind.element.exact
    for name, values in after.items():
        previous = before.get(name)
        if previous is None:
            found.added[name] = _whole_item(kind, values, found.literal)
        elif len(values) == 1 and len(previous) == 1:
            if not (previous == values if exact else equal(previous, values)):
                _compare(kind.element, previous[0], values[0], name, found)
        else:
            _compare_duplicates(kind, previous, values, name, found)
    for name, previous in before.items():
        if name not in after:
            found.removed[name] = _whole_item(kind, previous)


def _by_name(kind: ListType, items: list[Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(kind.path_element(item), []).append(item)
    return result


def _whole_item(kind: ListType, values: list[Any], literal: bool = False) -> Fields:
    """Items of one name are one field, without any below."""
    return _whole(kind.element, values[0], literal) if len(values) == 1 else LEAF


def _compare_duplicates(kind: ListType, old: list[Any], new: list[Any], name: str, found: _Changes) -> None:
    """Several items of one name, before or after, are owned as one."""
    if len(old) > 1 and len(new) > 1:
        if not equal(old, new):
            found.modified[name] = LEAF
    elif len(old) > 1:
        found.added[name] = _whole(kind.element, new[0], found.literal)
        found.removed[name] = LEAF
    else:
        found.removed[name] = _whole(kind.element, old[0])
        found.added[name] = LEAF


def _whole(atom: Atom, value: Any, literal: bool = False) -> Fields:
    """What is below an element that one side has not: all of it, itself included."""
    if atom.leaf:
        return LEAF
    kind = atom.only or atom.of(value)
    if isinstance(kind, ScalarType) or kind.atomic:
        return LEAF
    if isinstance(kind, ListType):
        if type(value) is not list:
            return LEAF
        items = {name: _whole_item(kind, values, literal) for name, values in _by_name(kind, value).items()}
        return with_self(_in_order(items))
    return with_self(_whole_map(kind, value, literal)) if type(value) is dict else LEAF


def _whole_map(kind: MapType, value: dict[str, Any], literal: bool) -> Fields:
    if kind.zero and not literal:
        value = kind.zero | value
    fields, element = kind.fields, kind.element
    below: Fields = {}
    for name in sorted(value) if len(value) > 1 else value:
        atom = fields.get(name) or element
        if atom is None:
            raise _undeclared(name)
        below["f:" + name] = LEAF if atom.leaf else _whole(atom, value[name], literal)
    return below
