"""Field sets: which fields of an object somebody owns, as the tree that `managedFields[].fieldsV1` is.

A set is a dictionary from path element to what is below it. `{}` below an element means that the element itself is in
the set; where it has members below it too, the key "." says so. Elements are strings, just as they are serialised:
`f:name` a field, `k:{"name":"x"}` an element of a list by its keys, `v:"x"` one by its value, `i:0` one by its index.
All sets are canonical: elements written in one way only and in Go's order, no empty branches. So equal sets have equal
JSON, and nothing is parsed or sorted again to read or write them. Sets are shared: never change one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from kapstan.machinery.codec import decode_any
from kapstan.machinery.golang import quote, to_json

__all__ = (
    "LEAF",
    "SELF",
    "Fields",
    "FieldsError",
    "canonical",
    "difference",
    "has",
    "in_order",
    "intersection",
    "key_element",
    "leaves",
    "parse",
    "path_string",
    "paths",
    "recursive_difference",
    "set_of",
    "union",
    "value_element",
    "with_self",
)

Fields: TypeAlias = dict[str, Any]

SELF = "."
LEAF: Fields = {}
"""What is below an element that is in the set, alone. One object for all, to be compared by being empty."""


class FieldsError(ValueError):
    """What should be `fieldsV1` is not."""


def set_of(*members: tuple[str, ...]) -> Fields:
    """The set of these fields, each given by the names on the way to it."""
    result: Fields = {}
    for names in members:
        path: Fields = LEAF
        for name in reversed(names):
            path = {f"f:{name}": path}
        result = union(result, path)
    return result


def with_self(node: Fields) -> Fields:
    """The node with its own element in the set."""
    return node if not node or SELF in node else {SELF: LEAF, **node}


def union(left: Fields, right: Fields) -> Fields:
    """What is in either set."""
    if not right:
        return left
    return _union(left, right) if left else right


def _union(left: Fields, right: Fields) -> Fields:
    if not left:
        return with_self(right)
    if not right:
        return with_self(left)
    result = left
    for element, theirs in right.items():
        ours = result.get(element)
        if ours == theirs:
            continue
        merged = theirs if ours is None else _union(ours, theirs)
        if merged is not ours:
            if result is left:
                result = left.copy()
            result[element] = merged
    return result if len(result) == len(left) else in_order(result)


def difference(left: Fields, right: Fields) -> Fields:
    """What is in `left` but not in `right`. A field's absence leaves the fields below it alone, and the reverse."""
    if not left or not right:
        return left
    return _difference(left, right) or {}


def _difference(left: Fields, right: Fields) -> Fields | None:
    """The node without those members; None if nothing is left."""
    if not left:
        return None if not right or SELF in right else left
    if not right:
        return _without(left, SELF) if SELF in left else left
    result = left
    for element, theirs in right.items():
        ours = left.get(element)
        if ours is None:
            continue
        rest = None if ours == theirs else _difference(ours, theirs)
        if rest is ours:
            continue
        if result is left:
            result = left.copy()
        if rest is None:
            del result[element]
        else:
            result[element] = rest
    return result if result is left else _pruned(result)


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """What is in `left`, without the members of `right` and all that is below them."""
    if not left or not right:
        return left
    return _recursive_difference(left, right) or {}


def _recursive_difference(left: Fields, right: Fields) -> Fields | None:
    result = left
    for element, theirs in right.items():
        ours = left.get(element)
        if ours is None or element == SELF:
            continue
        if not theirs or SELF in theirs:
            rest = None
        else:
            rest = _recursive_difference(ours, theirs) if ours else ours
        if rest is ours:
            continue
        if result is left:
            result = left.copy()
        if rest is None:
            del result[element]
        else:
            result[element] = rest
    return result if result is left else _pruned(result)


def intersection(left: Fields, right: Fields) -> Fields:
    """What is in both sets."""
    if not left or not right:
        return {}
    return _intersection(left, right) or {}


def _intersection(left: Fields, right: Fields) -> Fields | None:
    if left == right:
        return left
    if not left:
        return LEAF if not right or SELF in right else None
    if not right:
        return LEAF if SELF in left else None
    if len(left) > len(right):
        left, right = right, left
    result: Fields = {}
    for element, ours in left.items():
        theirs = right.get(element)
        if theirs is not None and (both := _intersection(ours, theirs)) is not None:
            result[element] = both
    return _pruned(result)


def _pruned(node: Fields) -> Fields | None:
    """A node that lost members, as canonical sets have it."""
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node


def _without(node: Fields, element: str) -> Fields:
    return {key: value for key, value in node.items() if key != element}


def leaves(fields: Fields) -> Fields:
    """The set without members that have others below them."""
    return {element: leaves(below) if below else below for element, below in fields.items() if element != SELF}


def has(fields: Fields, path: tuple[str, ...]) -> bool:
    """Whether the set has the field at that path of elements."""
    node: Fields | None = fields
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return bool(path) and (not node or SELF in node)


def paths(fields: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All members, in Go's order: those of a level, and then those below each."""
    for element, below in fields.items():
        if element != SELF and (not below or SELF in below):
            yield (*prefix, element)
    for element, below in fields.items():
        if below:
            yield from paths(below, (*prefix, element))


def path_string(path: tuple[str, ...]) -> str:
    """A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(map(element_string, path))


def element_string(element: str) -> str:
    """One element as messages show it."""
    kind, text = element[:1], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in json.loads(text).items()) + "]"
    if kind == "v":
        return f"[={_shown(json.loads(text))}]"
    return f"[{text}]"


def _shown(value: Any) -> str:
    return quote(value) if isinstance(value, str) else to_json(value)


@lru_cache(maxsize=8192, typed=True)
def key_element(names: tuple[str, ...], *values: Any) -> str:
    """The element of a list whose key fields, in the order of their names, have these values."""
    return _keyed(dict(zip(names, values, strict=True)))


def _keyed(fields: Mapping[str, Any]) -> str:
    return "k:{" + ",".join(f"{json.dumps(name)}:{to_json(value)}" for name, value in fields.items()) + "}"


@lru_cache(maxsize=8192, typed=True)
def value_element(value: Any) -> str:
    """The element of a list that equals this value."""
    return f"v:{to_json(value)}"


def in_order(node: Fields) -> Fields:
    """The node with its elements in Go's order."""
    elements = sorted(node)
    if not elements[-1].startswith("f:"):
        elements.sort(key=_rank)
    return {element: node[element] for element in elements}


@lru_cache(maxsize=8192)
def _rank(element: str) -> tuple[Any, ...]:
    """By kind: fields, keys, values, indices. Then by content, numbers numerically."""
    kind, text = element[:1], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "k":
        return (1, *((name, *_rank_value(value)) for name, value in json.loads(text).items()))
    if kind == "v":
        return (2, *_rank_value(json.loads(text)))
    return (3, int(text)) if kind == "i" else (-1,)


def _rank_value(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if value is None:
        return (5, 0)
    return (3 if isinstance(value, list) else 4, to_json(value))


@lru_cache(maxsize=1024)
def parse(data: bytes) -> Fields:
    """The set whose JSON this is; cached, since most objects are owned like many others."""
    return canonical(decode_any(data))


def canonical(raw: Any) -> Fields:
    """The set that decoded `fieldsV1` stands for; FieldsError if it is none."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise FieldsError(f"fieldsV1 must be an object, not {type(raw).__name__}")
    children, _ = _read(raw)
    return children


def _read(raw: Mapping[str, Any]) -> tuple[Fields, bool]:
    """What is below a node, and whether the node itself is a member."""
    children: Fields = {}
    member = SELF in raw
    for key, below in raw.items():
        element = _element(key)
        if element is None:
            continue
        if below is not None and not isinstance(below, Mapping):
            raise FieldsError(f"fieldsV1 has {below!r} below {key!r}, where an object must be")
        node, is_member = _read(below or LEAF)
        node = with_self(node) if is_member else node
        children[element] = _union(children[element], node) if element in children else node
    return (in_order(children) if children else children), member or not children


def _element(key: str) -> str | None:
    """A path element in its one form; None for what is none, or of a kind that nobody knows yet."""
    if key.startswith("f:") or key == SELF:
        return key if key != SELF else None
    if len(key) < 2:
        raise FieldsError(f"fieldsV1 has the key {key!r}; a key must be at least 2 characters long")
    if key[1] != ":":
        raise FieldsError(f"fieldsV1 has the key {key!r}, which lacks a colon after its first letter")
    try:
        return _listed(key[0], key[2:])
    except ValueError as error:
        raise FieldsError(f"fieldsV1 has the key {key!r}, which cannot be read: {error}") from None


def _listed(kind: str, text: str) -> str | None:
    if kind == "v":
        return f"v:{to_json(json.loads(text))}"
    if kind == "k":
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise ValueError("keys must be an object")
        return _keyed({name: fields[name] for name in sorted(fields)})
    return f"i:{int(text)}" if kind == "i" else None
