"""Markers: what a field's `Annotated[...]` metadata may say about its CRD schema, beyond `msgspec.Meta`.

Each is plain data. `kapstan.generate` turns them into OpenAPI keywords; nothing here changes how a type decodes.
`msgspec.Meta` carries the bounds (ge, le, gt, lt, multiple_of, min_length, max_length, pattern), title, description
and examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

__all__ = (
    "CEL",
    "Default",
    "Embedded",
    "Example",
    "Format",
    "Immutable",
    "IntOrStringMarker",
    "Keywords",
    "ListAtomic",
    "ListMap",
    "ListSet",
    "MapAtomic",
    "MapGranular",
    "MaxProperties",
    "MinProperties",
    "Nullable",
    "Optional",
    "PreserveUnknown",
    "Required",
    "SchemaType",
    "Schemaless",
    "StructAtomic",
)


class _Marker(Struct, frozen=True, eq=False):
    """Base of every marker. Told apart by identity: a type hint is hashed, and a default may be a dictionary."""


class CEL(_Marker, frozen=True):
    """A validation rule of the field (or, through `@cel`, of a type): `x-kubernetes-validations`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class Default(_Marker, frozen=True):
    """The value that the API server fills in where the field is absent. The Python default stays `None` or empty."""

    value: Any


class Example(_Marker, frozen=True):
    """An example value, shown by documentation."""

    value: Any


class Format(_Marker, frozen=True):
    """OpenAPI `format`, such as `date-time`, `ipv4`, `uuid`, `byte`."""

    name: str


class SchemaType(_Marker, frozen=True):
    """Overrides the OpenAPI `type`."""

    name: str


class Schemaless(_Marker, frozen=True):
    """Ignores the Python type and uses this schema as it is."""

    schema: Mapping[str, Any] = {}


class Keywords(_Marker, frozen=True):
    """OpenAPI keywords that no other marker has, put beside those of the type: `Keywords({"oneOf": [...]})`."""

    schema: Mapping[str, Any]


class IntOrStringMarker(_Marker, frozen=True):
    """A number or a string: `x-kubernetes-int-or-string`."""


class MinProperties(_Marker, frozen=True):
    """An object must have at least that many fields. (For a `dict`, `msgspec.Meta(min_length=...)` says the same.)"""

    count: int


class MaxProperties(_Marker, frozen=True):
    """An object may have at most that many fields."""

    count: int


class Nullable(_Marker, frozen=True):
    """An explicit null is kept. (`T | None` alone means that the field may be absent.)"""


class Required(_Marker, frozen=True):
    """Required by the schema although Python has a default for it."""


class Optional(_Marker, frozen=True):
    """Optional in the schema although Python has no default for it."""


class Immutable(_Marker, frozen=True):
    """Once set, the value may not change: `self == oldSelf`."""


class PreserveUnknown(_Marker, frozen=True):
    """Fields that the schema does not know are kept: `x-kubernetes-preserve-unknown-fields`."""


class Embedded(_Marker, frozen=True):
    """A whole Kubernetes object inside this one: `x-kubernetes-embedded-resource`."""


class ListMap:
    """A list whose items are told apart by these keys; apply merges them item by item: `ListMap("type")`."""

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def __repr__(self) -> str:
        return f"ListMap{self.keys!r}"


class ListSet(_Marker, frozen=True):
    """A list without duplicates; apply owns each item on its own."""


class ListAtomic(_Marker, frozen=True):
    """A list that is replaced as a whole."""


class MapAtomic(_Marker, frozen=True):
    """A map that is replaced as a whole."""


class MapGranular(_Marker, frozen=True):
    """A map whose entries are owned one by one (the default, said explicitly)."""


class StructAtomic(_Marker, frozen=True):
    """An object that is replaced as a whole."""
