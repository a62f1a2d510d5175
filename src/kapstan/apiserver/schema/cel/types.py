"""Types of expressions: how they are written, and when one may stand for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = (
    "ANY",
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "Bindings",
    "MessageType",
    "Type",
    "list_of",
    "map_of",
    "most_general",
    "object_type",
    "opaque_type",
    "optional_of",
    "type_of",
    "type_param",
)


class Type:
    """A type. Equal ones need not be the same object, except for structs, which have their fields."""

    __slots__ = ("fields", "kind", "name", "params")

    def __init__(
        self,
        kind: str,
        name: str = "",
        params: tuple[Type, ...] = (),
        fields: Mapping[str, Type] | None = None,
    ) -> None:
        self.kind = kind  # bool, int, ..., list, map, struct, opaque, type, param, dyn, any, null, error
        self.name = name or kind
        self.params = params
        self.fields: Mapping[str, Type] | None = fields  # of a struct; None where no field is known

    def __str__(self) -> str:
        if self.kind == "error":
            return "!error!"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"

    def __repr__(self) -> str:
        return f"Type({self})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Type)
            and self.kind == other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    @property
    def is_dyn(self) -> bool:
        return self.kind in ("dyn", "any")

    @property
    def is_optional(self) -> bool:
        return self.name == "optional_type"

    @property
    def runtime_name(self) -> str:
        """The name that `type(x)` shows."""
        return _RUNTIME_NAMES.get(self.kind, self.name)


class MessageType(Type):
    """A struct that expressions can make: `Name{field: value}`."""

    __slots__ = ("make",)

    def __init__(self, name: str, fields: Mapping[str, Type], make: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__("struct", name, fields=fields)
        self.make = make


_RUNTIME_NAMES = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
    "any": "google.protobuf.Any",
}

BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES = Type("string"), Type("bytes")
TIMESTAMP, DURATION = Type("timestamp"), Type("duration")
NULL, DYN, ANY, ERROR = Type("null"), Type("dyn"), Type("any"), Type("error")
TYPE = Type("type")


def list_of(item: Type) -> Type:
    return Type("list", params=(item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", params=(key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def opaque_type(name: str, *params: Type) -> Type:
    return Type("opaque", name, params)


def object_type(name: str, fields: Mapping[str, Type] | None = None) -> Type:
    return Type("struct", name, fields=fields)


def type_of(value: Type) -> Type:
    return Type("type", params=(value,))


def type_param(name: str) -> Type:
    return Type("param", name)


class Bindings(dict[Type, Type]):
    """What type parameters stand for, as far as is known."""

    def substitute(self, type: Type, *, free_to_dyn: bool = False) -> Type:
        """The type with its parameters replaced; unknown ones stay, or become dyn."""
        known = self.get(type) if type.kind == "param" else None
        if known is not None:
            return self.substitute(known, free_to_dyn=free_to_dyn)
        if type.kind == "param":
            return DYN if free_to_dyn else type
        if not type.params:
            return type
        params = tuple(self.substitute(param, free_to_dyn=free_to_dyn) for param in type.params)
        return Type(type.kind, type.name, params, type.fields)

    def assign(self, given: list[Type], wanted: list[Type]) -> Bindings | None:
        """What parameters stand for if the given types suit the wanted ones; None if they do not."""
        if len(given) != len(wanted):
            return None
        tried = Bindings(self)
        return tried if all(map(tried._assignable, given, wanted)) else None

    def _assignable(self, left: Type, right: Type) -> bool:
        if right.kind == "param":
            valid, known = self._substitutes(left, right)
            if valid or known:
                return valid
        if left.kind == "param":
            return self._substitutes(right, left)[0]
        if left.kind in ("dyn", "any", "error") or right.kind in ("dyn", "any", "error"):
            return True
        if left.kind == "null" or right.kind == "null":
            other = right if left.kind == "null" else left
            return other.kind in ("null", "opaque", "struct", "duration", "timestamp")
        if left.kind == "type":
            return right.kind == "type"
        if left.kind in ("opaque", "list", "map"):
            same = left.kind == right.kind and left.name == right.name and len(left.params) == len(right.params)
            return same and all(map(self._assignable, left.params, right.params))
        return left == right

    def _substitutes(self, type: Type, param: Type) -> tuple[bool, bool]:
        """Whether the parameter can stand for the type, and whether it stood for one already."""
        if type == param:
            return True, True
        known = self.get(param)
        if known is not None:
            if type == known:
                return True, True
            if self._assignable(type, known):
                general = type if _is_less_specific(type, known) else known
                if not self._occurs(param, general):
                    self[param] = general
                return True, True
            return False, True
        if self._occurs(param, type):
            return False, False
        self[param] = type
        return True, False

    def _occurs(self, param: Type, within: Type) -> bool:
        if param == within:
            return True
        if within.kind == "param":
            return within in self and self._occurs(param, self[within])
        return any(self._occurs(param, inner) for inner in within.params)


def _is_less_specific(left: Type, right: Type) -> bool:
    """Whether the first is equal to the second, or has dyn where the second is precise."""
    if left.is_dyn or left.kind == "param":
        return True
    if right.is_dyn or right.kind == "param" or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.params:
        same = left.name == right.name and len(left.params) == len(right.params)
        return same and all(map(_is_less_specific, left.params, right.params))
    return left == right


def most_general(left: Type, right: Type) -> Type:
    """The more general of two types that suit each other."""
    return left if _is_less_specific(left, right) else right
