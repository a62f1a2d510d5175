"""Mismatch: a value that does not fit its Go type, in the words of Go's decoder."""

from __future__ import annotations

from typing import Any

__all__ = ("Mismatch",)

_JSON_KINDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_NUMBERS = ("int32", "int64")


class Mismatch(ValueError):
    """A JSON value that cannot be read into the wanted type; the structs around it add where it is."""

    def __init__(self, value: Any, wanted: str) -> None:
        self.kind = _JSON_KINDS[type(value)]
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
