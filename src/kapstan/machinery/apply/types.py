"""Types as apply sees them: what of a value is one field, and what are many, each with an owner of its own.

Made from the schema of a kind by the same rules as in Kubernetes. An `Atom` says what a value may be: a map (objects
too), a list, a scalar, or, where the schema leaves it open, any of them. Maps and lists are granular or atomic (owned
as one); granular lists know their elements by keys or, as sets, by value.
"""

from __future__ import annotations

from typing import Any, Final

from kapstan.machinery.apply.fieldpath import key_element, value_element
from kapstan.machinery.apply.zero_fields import ALWAYS, NEVER
from kapstan.machinery.schema import Schema, compile_schema

__all__ = ("ANYTHING", "Atom", "ListType", "MapType", "ScalarType", "TypedError", "compile_type")


class TypedError(Exception):
    """A value does not fit its type."""


class ScalarType:
    """A value without parts."""

    __slots__ = ("name", "types")

    def __init__(self, name: str, *types: type) -> None:
        self.name = name
        self.types = types


NUMERIC: Final = ScalarType("numeric", int, float)
STRING: Final = ScalarType("string", str)
BOOLEAN: Final = ScalarType("boolean", bool)
UNTYPED: Final = ScalarType("untyped", int, float, str, bool)


class MapType:
    """An object with declared fields, a map whose values are all alike, or both."""

    __slots__ = ("atomic", "element", "fields", "untyped", "zero")

    def __init__(self) -> None:
        self.fields: dict[str, Atom] = {}
        self.element: Atom | None = None  # the type of values that are not declared; None if there may be none
        self.atomic = False
        self.untyped = False  # nothing is known of its values
        self.zero: dict[str, Any] = {}  # what Go has in fields that nobody set, for types that are Go's


class ListType:
    """A list: atomic, keyed, or a set of scalars."""

    __slots__ = ("atomic", "defaults", "element", "keys")

    def __init__(self, element: Atom, *, atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.atomic = atomic
        self.keys = tuple(sorted(keys))
        self.defaults: dict[str, Any] = {}

    def path_element(self, item: Any) -> str:
        """How an item of the list is named in paths; TypedError if it cannot be."""
        keys = self.keys
        if not keys:
            return self._value_element(item)
        if type(item) is not dict:
            what = "a null element" if item is None else "non-map elements"
            raise TypedError(f"associative list with keys may not have {what}")
        if len(keys) == 1 and type(value := item.get(keys[0])) is str:
            return key_element(keys, value)
        return self._keys_element(item)

    def _value_element(self, item: Any) -> str:
        if isinstance(item, dict):
            raise TypedError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise TypedError("not supported: associative list with lists as elements")
        if item is None:
            raise TypedError("associative list without keys has an element that's an explicit null")
        return value_element(item)

    def _keys_element(self, item: dict[str, Any]) -> str:
        """Keys that are absent take their default; without one, they are not part of the name."""
        found = [(name, item[name]) for name in self.keys if name in item]
        if len(found) < len(self.keys) and self.defaults:
            given = self.defaults | dict(found)
            found = [(name, given[name]) for name in self.keys if name in given]
        if not found:
            all_keys = " ".join(f'"{name}"' for name in self.keys)
            raise TypedError(
                f"associative list with keys has an element that omits all key fields [{all_keys}]"
                " (and doesn't have default values for any key fields)"
            )
        names, values = tuple(name for name, _ in found), tuple(value for _, value in found)
        try:
            return key_element(names, *values)
        except TypeError:  # a key that is itself an object or a list cannot be cached
            return key_element.__wrapped__(names, *values)


class Atom:
    """What a value may be. `leaf` types are owned as one, whatever the value.

    `exact` types hold nothing that Python's `==` takes for equal but JSON does not.
    """

    __slots__ = ("exact", "leaf", "list", "map", "only", "scalar")

    def __init__(
        self, scalar: ScalarType | None = None, list: ListType | None = None, map: MapType | None = None
    ) -> None:
        self.scalar = scalar
        self.list = list
        self.map = map
        self.only: ScalarType | ListType | MapType | None = None
        self.exact = True
        self.leaf = False
        self.settle()

    def settle(self) -> None:
        """To be called when the kinds of value have been set."""
        kinds = [kind for kind in (self.map, self.scalar, self.list) if kind is not None]
        self.only = kinds[0] if len(kinds) == 1 else None
        self.leaf = self.only is not None and (isinstance(self.only, ScalarType) or self.only.atomic)

    def of(self, value: Any) -> ScalarType | ListType | MapType:
        """What this value is taken for: by its own type, if that is allowed; else the first that is."""
        if self.only is not None:
            return self.only
        if isinstance(value, dict):
            kind: ScalarType | ListType | MapType | None = self.map
        elif isinstance(value, list):
            kind = self.list
        else:
            kind = self.scalar if value is not None else None
        found = kind or self.map or self.scalar or self.list
        if found is None:
            raise TypedError("schema error: invalid atom: inlined")
        return found


def _open(values: Atom | None, *, granular: bool) -> Atom:
    """A value of which the schema tells nothing; `values` are those of a map, None if they are just such."""
    atom = Atom()
    atom.scalar, atom.list, atom.map = UNTYPED, ListType(values or atom, atomic=True), MapType()
    atom.map.element = atom if granular else values or atom
    atom.map.atomic, atom.map.untyped, atom.exact = not granular, granular, False
    atom.settle()
    return atom


_OPAQUE: Final = _open(None, granular=False)
ANYTHING: Final = _open(_OPAQUE, granular=True)
"""The type of a kind without a schema: maps are split as far as they go, lists are atomic."""

_OBJECT_META = compile_schema(
    {
        "type": "object",
        "properties": {
            **{
                name: {"type": "string"}
                for name in ("generateName", "name", "namespace", "resourceVersion", "selfLink", "uid")
            },
            **{name: {"type": "integer"} for name in ("deletionGracePeriodSeconds", "generation")},
            **{name: {"type": "string", "format": "date-time"} for name in ("creationTimestamp", "deletionTimestamp")},
            **{
                name: {"type": "object", "additionalProperties": {"type": "string"}}
                for name in ("annotations", "labels")
            },
            "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}},
            "ownerReferences": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
                "items": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {
                        **{name: {"type": "string"} for name in ("apiVersion", "kind", "name", "uid")},
                        **{name: {"type": "boolean"} for name in ("blockOwnerDeletion", "controller")},
                    },
                },
            },
        },
    }
)


def compile_type(schema: Schema | None) -> Atom:
    """The type of a kind. Custom kinds need not declare `apiVersion`, `kind` and `metadata`; None declares nothing."""
    if schema is None:
        return ANYTHING
    compiler = _Compiler()
    atom = compiler.atom(schema, preserve=False)
    if atom.map is not None and not schema.ref:
        compiler.declare_resource(atom.map, schema)
    compiler.settle_exactness()
    return atom


_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_SCALARS = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}

_definitions: dict[int, tuple[Schema, Atom]] = {}
"""Definitions refer to each other, and kinds share them: each is compiled once."""


class _Compiler:
    def __init__(self) -> None:
        self.made: list[Atom] = []

    def atom(self, schema: Schema, *, preserve: bool) -> Atom:
        """`preserve`: unknown fields are kept, here and in what is declared inside."""
        if not schema.ref:
            return self._fill(Atom(), schema, preserve or schema.preserve_unknown)
        if schema.ref == _RAW_EXTENSION:
            return _OPAQUE
        known = _definitions.get(id(schema))
        if known is None:
            known = _definitions[id(schema)] = (schema, Atom())
            self._fill(known[1], schema, schema.preserve_unknown)
        return known[1]

    def _fill(self, atom: Atom, schema: Schema, preserve: bool) -> Atom:
        self.made.append(atom)
        if schema.ref == _QUANTITY:
            atom.scalar = UNTYPED
        elif schema.type == "object":
            atom.map = self._map(schema, preserve)
        elif schema.type == "array":
            atom.list = self._list(schema, preserve)
        elif schema.type:
            plain = schema.type != "string" or schema.format in ("", "byte")
            atom.scalar = _SCALARS.get(schema.type, STRING) if plain else UNTYPED
        else:
            atom.scalar, atom.list, atom.map = UNTYPED, self._list(schema, preserve), self._map(schema, preserve)
            atom.exact = schema.int_or_string
        atom.settle()
        return atom

    def _map(self, schema: Schema, preserve: bool) -> MapType:
        made = MapType()
        made.atomic = schema.map_type == "atomic"
        made.fields = {name: self.atom(part, preserve=preserve) for name, part in schema.properties.items()}
        made.element = self._element(schema, preserve)
        made.untyped = not made.fields and _is_untyped(schema, made.element)
        if schema.ref:
            made.zero = _zero_fields(schema)
        if schema.embedded_resource:
            self.declare_resource(made, schema)
        return made

    def _element(self, schema: Schema, preserve: bool) -> Atom | None:
        """The type of fields that are not declared."""
        if isinstance(schema.additional, Schema):
            return self.atom(schema.additional, preserve=preserve)
        if schema.additional is None:
            return ANYTHING if preserve or not schema.properties else None
        return ANYTHING if schema.additional else None

    def _list(self, schema: Schema, preserve: bool) -> ListType:
        element = self.atom(schema.items, preserve=preserve) if schema.items is not None else _OPAQUE
        keys = tuple(schema.list_map_keys) if schema.list_type == "map" else ()
        atomic = schema.list_type in ("", "atomic")
        if not schema.list_type and "merge" in schema.patch_strategies:
            atomic, keys = False, (schema.merge_key,) if schema.merge_key else ()
        made = ListType(element, atomic=atomic, keys=keys)
        declared = schema.items.properties if schema.items is not None else {}
        made.defaults = {
            key: declared[key].default for key in keys if key in declared and declared[key].default is not None
        }
        return made

    def declare_resource(self, made: MapType, schema: Schema) -> None:
        """What every resource has, also where its schema does not say so."""
        text = Atom(STRING)
        made.fields = {"apiVersion": text, "kind": text, **made.fields}
        metadata = schema.properties.get("metadata")
        if metadata is None or not metadata.ref:
            made.fields["metadata"] = self.atom(_OBJECT_META, preserve=False)

    def settle_exactness(self) -> None:
        """A type is exact if all that it is made of are; types may be made of themselves."""
        changed = True
        while changed:
            changed = False
            for atom in self.made:
                if atom.exact and not all(part.exact for part in _parts(atom)):
                    atom.exact = False
                    changed = True


def _parts(atom: Atom) -> list[Atom]:
    if atom.scalar is not None:
        return []
    parts = [atom.list.element] if atom.list is not None else []
    if atom.map is not None:
        # `managedFields` are open by their schema, but hold nothing but strings.
        parts += [part for name, part in atom.map.fields.items() if name != "managedFields"]
        parts += [atom.map.element] if atom.map.element is not None else []
    return parts


def _is_untyped(schema: Schema, element: Atom | None) -> bool:
    if element is ANYTHING:
        return True
    named = isinstance(schema.additional, Schema) and schema.additional.ref
    return element is not None and element.scalar is UNTYPED and not named


def _zero_fields(schema: Schema) -> dict[str, Any]:
    """The fields of a Go struct that are there even if nobody set them, with the value they have then."""
    prefix = schema.ref.removeprefix("io.k8s.")
    zero: dict[str, Any] = {}
    for name, part in schema.properties.items():
        path = f"{prefix}.{name}"
        if path in ALWAYS:
            zero[name] = ALWAYS[path]
        elif path not in NEVER and (part.has_default or name in schema.required):
            zero[name] = _zero_fields(part) if part.default == {} and part.ref else part.default
    return zero
