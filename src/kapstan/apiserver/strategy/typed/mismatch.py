"""Mismatch: a value that does not fit its Go type, in the words of Go's decoder."""

from __future__ import annotations

from typing import Any

__all__ = ("Mismatch",)

_JSON_KINDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_GO_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_NUMBERS = ("int32", "int64")
_SCALARS = (*_NUMBERS, "string", "bool", "float64")
# Go converts these, which JSON does not; of all other pairs it only says that it does not know the type.
_CONVERTIBLE = {("int64", "string"), ("float64", "int32"), ("float64", "int64")}
_MAPS = ("map[", "v1.ResourceList")


class Mismatch(ValueError):
    """A JSON value that cannot be read into the wanted type; the structs around it add where it is."""

    def __init__(self, value: Any, wanted: str) -> None:
        self.kind, self._go_kind = _JSON_KINDS[type(value)], _GO_KINDS[type(value)]
        if wanted in _NUMBERS and self.kind == "number":
            self.kind = f"number {value}"
        self.wanted = wanted
        self.struct = ""
        self.fields: list[str] = []

    def within(self, struct: str, field: str) -> None:
        """The value was found in a field of a struct. Go names the innermost struct, and all fields on the way."""
        self.struct = self.struct or struct
        self.fields.insert(0, field)

    def __str__(self) -> str:
        where = f"struct field {self.struct}.{'.'.join(self.fields)}" if self.struct else "value"
        return f"json: cannot unmarshal {self.kind} into Go {where} of type {self.wanted}"

    @property
    def restoring(self) -> str:
        """The same in the words in which Go makes objects of generic ones, which strategic merge patches leave."""
        if self.wanted.startswith("[]"):
            return f"cannot restore slice from {self._go_kind}"
        if self.wanted.startswith(_MAPS):
            return f"cannot restore map from {self._go_kind}"
        if self.wanted not in _SCALARS:
            return f"cannot restore struct from: {self._go_kind}"
        if (self._go_kind, self.wanted) in _CONVERTIBLE:
            return f"cannot convert {self._go_kind} to {self.wanted}"
        return f"unrecognized type: {self.wanted}"
