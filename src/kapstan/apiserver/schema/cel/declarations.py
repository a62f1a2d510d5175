"""Declarations: which functions there are, for which types, and what runs them.

A signature is written as in cel-go's messages: `string.contains(string) -> bool`, `lists.range(int) -> list(int)`.
Single capital letters are type parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.types import Type

__all__ = ("Functions", "Library", "Overload", "parse_type")


class Overload(NamedTuple):
    """One way to call a function."""

    id: str
    function: str
    params: tuple[Type, ...]  # the receiver first
    result: Type
    is_member: bool
    run: Callable[..., Any]

    @property
    def type_params(self) -> set[Type]:
        found: set[Type] = set()
        todo = [*self.params, self.result]
        while todo:
            part = todo.pop()
            if part.kind == "param":
                found.add(part)
            todo += part.params
        return found


_SIMPLE = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "dyn": types.DYN,
    "null": types.NULL,
    "type": types.TYPE,
}


class Library:
    """A set of functions and types that belong together."""

    def __init__(self, **named_types: Type) -> None:
        """`named_types` are the library's own types, by the names that its signatures use."""
        self.overloads: list[Overload] = []
        self.types = named_types

    def function(
        self, id: str, signature: str, *, member: bool = True
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare what the decorated function runs. A dotted name is a receiver's method unless `member` is false."""

        def declare(run: Callable[..., Any]) -> Callable[..., Any]:
            self.add(id, signature, run, member=member)
            return run

        return declare

    def add(self, id: str, signature: str, run: Callable[..., Any], *, member: bool = True) -> None:
        head, _, result = signature.rpartition(" -> ")
        callee, _, args = head.partition("(") if not head.startswith(("list(", "map(", "optional(")) else _split(head)
        receiver, dot, name = callee.rpartition(".") if member else ("", "", callee)
        params = [self.parse(receiver)] if dot else []
        params += (self.parse(arg) for arg in _arguments(args[:-1]))
        self.overloads.append(Overload(id, name, tuple(params), self.parse(result), bool(dot), run))

    def parse(self, text: str) -> Type:
        return parse_type(text, self.types)


def _split(head: str) -> tuple[str, str, str]:
    """Callee and arguments of a signature whose receiver has parameters itself."""
    at = head.index(").") + 2
    name, _, args = head[at:].partition("(")
    return head[:at] + name, "(", args


def _arguments(text: str) -> list[str]:
    """Arguments, split at commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def parse_type(text: str, named: dict[str, Type] | None = None) -> Type:
    """A type from its text: `map(string, list(int))`."""
    name, opening, rest = text.strip().partition("(")
    if not opening:
        if named and name in named:
            return named[name]
        return types.type_param(name) if len(name) == 1 else _SIMPLE[name]
    params = tuple(parse_type(part, named) for part in _arguments(rest[:-1]))
    if name == "optional":
        return types.optional_of(*params)
    return Type(name, params=params)


class Functions:
    """All functions of an environment, by name."""

    def __init__(self, *libraries: Library) -> None:
        self._by_name: dict[str, list[Overload]] = {}
        for library in libraries:
            for overload in library.overloads:
                self._by_name.setdefault(overload.function, []).append(overload)

    def find(self, name: str) -> list[Overload] | None:
        return self._by_name.get(name)
