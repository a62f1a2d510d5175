"""The evaluator: a typed tree becomes closures, which run against a frame of variables.

Everything that types decide is decided while compiling. Errors are exceptions, which `&&`, `||` and the quantifiers
absorb as CEL demands. A meter counts what an evaluation costs and stops it at a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kapstan.apiserver.schema.cel.ast import (
    Call,
    Comprehension,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from kapstan.apiserver.schema.cel.calls import (
    SPECIAL,
    InstantiationError,
    authorization,
    charged,
    dispatcher,
    invocation,
)
from kapstan.apiserver.schema.cel.costs import Meter, call_charge, static_cost
from kapstan.apiserver.schema.cel.fields import has_field, optional_field, select, struct_select
from kapstan.apiserver.schema.cel.loops import LOOPS
from kapstan.apiserver.schema.cel.types import MessageType, Type
from kapstan.apiserver.schema.cel.values import EvaluationError, Optional, TypeValue

__all__ = ("PER_CALL_LIMIT", "Compiler", "Frame", "InstantiationError", "Program", "Run")

PER_CALL_LIMIT = 1_000_000

# The meter, then the values of variables.
Frame: TypeAlias = "list[Any]"
Run: TypeAlias = "Callable[[Frame], Any]"


class Program:
    """A compiled expression. Thread-safe: each evaluation has its own frame."""

    __slots__ = ("_cost", "_run", "_size", "_slots", "type", "uses")

    def __init__(self, expr: Expr, type: Type, variables: tuple[str, ...]) -> None:
        compiler = Compiler(variables)
        self.type = type
        self._run, self._cost = compiler.whole(expr)
        self._size = compiler.size
        self._slots = {name: position for position, name in enumerate(variables, 1)}
        self.uses = frozenset(compiler.used)  # the variables that the expression refers to

    def eval(self, bindings: Mapping[str, Any], meter: Meter | None = None) -> Any:
        """The value; EvaluationError if there is none. The meter tells the cost, and CostExceeded that it ran out."""
        frame: Frame = [None] * self._size
        frame[0] = meter = meter or Meter(PER_CALL_LIMIT)
        meter.charge(self._cost)
        meter.pause()
        for name, value in bindings.items():
            slot = self._slots.get(name)
            if slot is not None:
                frame[slot] = value
        try:
            return self._run(frame)
        finally:
            meter.end()


class Compiler:
    """Compiles the nodes of one expression. `cost` sums up what straight code costs."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self._scopes: list[dict[str, int]] = [{name: position for position, name in enumerate(variables, 1)}]
        self.size = len(variables) + 1
        self.used: set[str] = set()
        self._cost = 0

    def whole(self, expr: Expr) -> tuple[Run, int]:
        """An expression and what it costs each time that it runs."""
        outer, self._cost = self._cost, 0
        run = self.compile(expr)
        inner, self._cost = self._cost, outer
        return run, inner

    def compile(self, expr: Expr) -> Run:
        self._cost += static_cost(expr)
        match expr:
            case Literal():
                return _constant(expr.value)
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case StructExpr():
                return self._struct(expr)
            case Comprehension():
                return LOOPS[expr.kind](self, expr)
        raise TypeError(f"no way to run {type(expr).__name__}")

    # --- Variables

    def bind(self, *names: str) -> tuple[int, ...]:
        """Open a scope with these variables; their slots."""
        slots = tuple(range(self.size, self.size + len(names)))
        self.size += len(names)
        self._scopes.append(dict(zip(names, slots, strict=True)))
        return slots

    def release(self) -> None:
        self._scopes.pop()

    def _ident(self, expr: Ident) -> Run:
        if expr.type_value is not None:
            return _constant(TypeValue(expr.type_value.runtime_name))
        name = expr.name.removeprefix(".")
        for depth, scope in enumerate(reversed(self._scopes)):
            if name in scope:
                slot = scope[name]
                if depth == len(self._scopes) - 1:
                    self.used.add(name)
                return lambda frame: frame[slot]
        raise LookupError(name)

    # --- Fields

    def _select(self, expr: Select) -> Run:
        operand, field = self.compile(expr.operand), expr.field
        if not field:  # the name of a type
            return operand
        if expr.operand.type.is_optional:
            return self._optional_select(operand, field, test_only=expr.test_only)
        if expr.test_only:
            return lambda frame: has_field(operand(frame), field)
        if expr.operand.type.kind == "struct":
            return struct_select(operand, field)
        return lambda frame: select(operand(frame), field)

    def _optional_select(self, operand: Run, field: str, *, test_only: bool) -> Run:
        def run(frame: Frame) -> Any:
            found = optional_field(operand(frame), field)
            return found.present if test_only else found

        return run

    # --- Calls

    def _call(self, expr: Call) -> Run:
        special = SPECIAL.get(expr.function)
        return special(self, expr) if special is not None else self.ordinary_call(expr)

    def ordinary_call(self, expr: Call) -> Run:
        nodes = [expr.target, *expr.args] if expr.target is not None else expr.args
        args = [self.compile(node) for node in nodes]
        overloads = expr.overloads
        precise = len(overloads) == 1 and not any(node.type.is_dyn for node in nodes)
        implementation = overloads[0].run if precise else dispatcher(expr.function, overloads)
        if expr.function == "check":
            return authorization(implementation, args)
        charge = call_charge(expr)
        return invocation(implementation, args) if charge is None else charged(implementation, args, charge)

    # --- Aggregates

    def _list(self, expr: ListExpr) -> Run:
        if not expr.optionals and all(isinstance(element, Literal) for element in expr.elements):
            return _constant([element.value for element in expr.elements if isinstance(element, Literal)])
        elements = [self.compile(element) for element in expr.elements]
        if not expr.optionals:
            return lambda frame: [element(frame) for element in elements]

        def run(frame: Frame) -> list[Any]:
            values: list[Any] = []
            for position, element in enumerate(elements):
                value = element(frame)
                if position not in expr.optionals:
                    values.append(value)
                elif not isinstance(value, Optional):
                    raise EvaluationError(f"cannot initialize optional list element from non-optional value {value}")
                elif value.present:
                    values.append(value.value)
            return values

        return run

    def _map(self, expr: MapExpr) -> Run:
        return self._entries([(self.compile(entry.key), entry) for entry in expr.entries])

    def _struct(self, expr: StructExpr) -> Run:
        message = expr.type
        assert isinstance(message, MessageType)
        fields = self._entries([(_constant(entry.key), entry) for entry in expr.fields])
        return lambda frame: message.make(fields(frame))

    def _entries(self, keyed: list[tuple[Run, Entry]]) -> Callable[[Frame], dict[Any, Any]]:
        entries = [(key, self.compile(entry.value), entry.optional) for key, entry in keyed]

        def run(frame: Frame) -> dict[Any, Any]:
            values: dict[Any, Any] = {}
            for key, value, optional in entries:
                name, item = key(frame), value(frame)
                if optional:
                    if not isinstance(item, Optional):
                        raise EvaluationError(
                            f"cannot initialize optional entry '{name}' from non-optional value {item}"
                        )
                    if not item.present:
                        continue
                    item = item.value
                values[name] = item
            return values

        return run


def _constant(value: Any) -> Run:
    return lambda frame: value
