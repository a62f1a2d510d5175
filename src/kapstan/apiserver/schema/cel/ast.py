"""The syntax tree of an expression. Nodes know where they stand; the checker adds types and overloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kapstan.apiserver.schema.cel.declarations import Overload
    from kapstan.apiserver.schema.cel.types import Type

__all__ = (
    "Call",
    "Comprehension",
    "Entry",
    "Expr",
    "Ident",
    "ListExpr",
    "Literal",
    "MapExpr",
    "Select",
    "StructExpr",
)


class Expr:
    """A node; `at` is the offset that errors about it point to."""

    __slots__ = ("at", "type")

    type: Type

    def __init__(self, at: int) -> None:
        self.at = at


class Literal(Expr):
    """A constant."""

    __slots__ = ("value",)

    def __init__(self, at: int, value: Any) -> None:
        super().__init__(at)
        self.value = value


class Ident(Expr):
    """A variable, or the name of a type."""

    __slots__ = ("name", "type_value")

    def __init__(self, at: int, name: str) -> None:
        super().__init__(at)
        self.name = name
        self.type_value: Type | None = None  # the type that it names


class Select(Expr):
    """A field of a value; `has()` only tests for it."""

    __slots__ = ("field", "operand", "test_only")

    def __init__(self, at: int, operand: Expr, field: str, test_only: bool = False) -> None:
        super().__init__(at)
        self.operand = operand
        self.field = field
        self.test_only = test_only


class Call(Expr):
    """A function or operator applied to arguments, the receiver first where there is one."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, at: int, function: str, args: list[Expr], target: Expr | None = None) -> None:
        super().__init__(at)
        self.function = function
        self.args = args
        self.target = target
        self.overloads: list[Overload] = []


class ListExpr(Expr):
    """A list; some elements may be optional."""

    __slots__ = ("elements", "optionals")

    def __init__(self, at: int, elements: list[Expr], optionals: frozenset[int] = frozenset()) -> None:
        super().__init__(at)
        self.elements = elements
        self.optionals = optionals


class Entry(NamedTuple):
    """One entry of a map, or one field of a struct, whose key is its name."""

    at: int
    key: Any
    value: Expr
    optional: bool


class MapExpr(Expr):
    """A map."""

    __slots__ = ("entries",)

    def __init__(self, at: int, entries: list[Entry]) -> None:
        super().__init__(at)
        self.entries = entries


class StructExpr(Expr):
    """A message, such as mutations make: `Object.spec{replicas: 3}`."""

    __slots__ = ("fields", "name")

    def __init__(self, at: int, name: str, fields: list[Entry]) -> None:
        super().__init__(at)
        self.name = name
        self.fields = fields


class Comprehension(Expr):
    """A loop over a list or map that folds into an accumulator; what macros such as `all` expand to.

    `kind` is the macro's name: loops of known shape run without their condition and step being interpreted.
    """

    __slots__ = (
        "accumulator",
        "condition",
        "initial",
        "kind",
        "parts",
        "range",
        "result",
        "step",
        "variable",
        "variable2",
    )

    def __init__(
        self,
        at: int,
        kind: str,
        range: Expr,
        variable: str,
        variable2: str | None,
        accumulator: str,
        initial: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
        parts: tuple[Expr, ...] = (),
    ) -> None:
        super().__init__(at)
        self.kind = kind
        self.range = range
        self.variable = variable
        self.variable2 = variable2
        self.accumulator = accumulator
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result
        self.parts = parts  # what the author wrote: predicate, transformation
