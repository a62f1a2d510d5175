"""The checker: gives every node a type, finds the overloads of every call, and words what does not fit.

The rules and messages are cel-go's, with Kubernetes' options: literals of mixed types are refused, numbers of
different types may be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kapstan.apiserver.schema.cel import types
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
from kapstan.apiserver.schema.cel.declarations import Functions, Overload
from kapstan.apiserver.schema.cel.source import CompileError, Issue, Source
from kapstan.apiserver.schema.cel.types import Bindings, MessageType, Type, most_general
from kapstan.apiserver.schema.cel.values import type_of_value

__all__ = ("FindType", "check")

FindType: TypeAlias = "Callable[[str], Type | None]"


def check(
    expr: Expr, source: Source, functions: Functions, variables: Mapping[str, Type], named_type: FindType
) -> Type:
    """Type the tree in place and return the type of the whole; CompileError shows what does not fit."""
    checker = _Checker(functions, variables, named_type)
    result = checker.check(expr)
    if checker.issues:
        raise CompileError(source, checker.issues)
    checker.finish()
    return checker.bindings.substitute(result, free_to_dyn=True)


class _Checker:
    def __init__(self, functions: Functions, variables: Mapping[str, Type], named_type: FindType) -> None:
        self.issues: list[Issue] = []
        self.bindings = Bindings()
        self._functions = functions
        self._scopes: list[Mapping[str, Type]] = [variables]
        self._named_type = named_type
        self._typed: list[Expr] = []
        self._fresh = 0

    def check(self, expr: Expr) -> Type:
        match expr:
            case Literal():
                result = type_of_value(expr.value)
            case Ident():
                result = self._ident(expr)
            case Select():
                result = self._select(expr)
            case Call():
                result = self._call(expr)
            case ListExpr():
                result = self._list(expr)
            case MapExpr():
                result = self._map(expr)
            case Comprehension():
                result = self._comprehension(expr)
            case StructExpr():
                result = self._struct(expr)
            case _:
                raise TypeError(f"no rule for {type(expr).__name__}")
        expr.type = result
        self._typed.append(expr)
        return result

    def finish(self) -> None:
        """Parameters that nothing bound are dyn."""
        for expr in self._typed:
            expr.type = self.bindings.substitute(expr.type, free_to_dyn=True)

    def _report(self, expr: Expr, message: str) -> Type:
        self.issues.append(Issue(expr.at, message))
        return types.ERROR

    def _undeclared(self, expr: Expr, name: str) -> Type:
        return self._report(expr, f"undeclared reference to '{name}' (in container '')")

    def _new_param(self) -> Type:
        self._fresh += 1
        return types.type_param(f"_var{self._fresh - 1}")

    def _suits(self, given: Type, wanted: Type) -> bool:
        found = self.bindings.assign([given], [wanted])
        if found is not None:
            self.bindings = found
        return found is not None

    # --- Names and fields

    def _lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _ident(self, expr: Ident) -> Type:
        found = self._lookup(expr.name)
        if found is not None:
            return found
        named = self._named_type(expr.name.removeprefix("."))
        if named is not None:
            expr.type_value = named
            return types.type_of(named)
        return self._undeclared(expr, expr.name)

    def _select(self, expr: Select) -> Type:
        if not expr.test_only and (name := _qualified_name(expr)) is not None:
            named = self._named_type(name)
            is_type = named is not None and self._lookup(name.partition(".")[0]) is None
            if is_type or self._lookup(name) is not None:  # the selection stands for a type or a variable with a dot
                expr.operand, expr.field = Ident(expr.at, name), ""
                return self.check(expr.operand)
        result = self._field(expr, expr.operand, expr.field)
        return types.BOOL if expr.test_only else self.bindings.substitute(result)

    def _field(self, expr: Expr, operand: Expr, field: str, *, optional: bool = False) -> Type:
        target = self.bindings.substitute(self.check(operand))
        if target.is_optional:
            optional, target = True, target.params[0]
        result = types.DYN
        match target.kind:
            case "map":
                result = target.params[1]
            case "struct":
                result = self._struct_field(expr, target, field)
            case "param":
                self._suits(types.DYN, target)
            case "dyn" | "any" | "error":
                pass
            case _:
                self._report(expr, f"type '{target}' does not support field selection")
        return types.optional_of(result) if optional else result

    def _struct_field(self, expr: Expr, struct: Type, field: str) -> Type:
        if struct.fields is None:
            return self._report(expr, f"unexpected failed resolution of '{struct}'")
        found = struct.fields.get(field)
        return found if found is not None else self._report(expr, f"undefined field '{field}'")

    # --- Calls

    def _call(self, expr: Call) -> Type:
        if expr.function == "_?._":
            field = expr.args[1]
            assert isinstance(field, Literal)
            field.type = types.STRING
            return self.bindings.substitute(self._field(expr, expr.args[0], field.value, optional=True))
        for arg in expr.args:
            self.check(arg)
        if expr.target is not None:
            prefix = _qualified_name(expr.target)
            found = self._functions.find(f"{prefix}.{expr.function}") if prefix is not None else None
            if found is not None:  # a function with a dot in its name, not a method
                expr.function, expr.target = f"{prefix}.{expr.function}", None
                return self._resolve(expr, found)
            self.check(expr.target)
        found = self._functions.find(expr.function.removeprefix("."))
        if found is None:
            return self._undeclared(expr, expr.function)
        return self._resolve(expr, found)

    def _resolve(self, expr: Call, overloads: list[Overload]) -> Type:
        if expr.function in ("_&&_", "_||_"):
            return self._logical(expr)
        target = expr.target
        given = [arg.type for arg in ((target, *expr.args) if target is not None else expr.args)]
        result: Type | None = None
        expr.overloads = []
        for overload in overloads:
            if overload.is_member != (target is not None):
                continue
            wanted, overload_result = self._instantiate(overload)
            found = self.bindings.assign(given, wanted)
            if found is None:
                continue
            self.bindings = found
            expr.overloads.append(overload)
            candidate = found.substitute(overload_result)
            if result is None:
                result = candidate
            elif not result.is_dyn and candidate != result:
                result = types.DYN
        return result if result is not None else self._no_overload(expr, given)

    def _instantiate(self, overload: Overload) -> tuple[list[Type], Type]:
        """An overload's types with parameters that nothing else uses."""
        fresh = Bindings({param: self._new_param() for param in sorted(overload.type_params, key=str)})
        return [fresh.substitute(param) for param in overload.params], fresh.substitute(overload.result)

    def _logical(self, expr: Call) -> Type:
        failed = False
        for arg in expr.args:
            if not self._suits(arg.type, types.BOOL):
                self._report(arg, f"expected type 'bool' but found '{arg.type}'")
                failed = True
        return types.ERROR if failed else types.BOOL

    def _no_overload(self, expr: Call, given: list[Type]) -> Type:
        shown = [str(self.bindings.substitute(type, free_to_dyn=True)) for type in given]
        receiver = f"{shown.pop(0)}." if expr.target is not None else ""
        signature = f"{receiver}({', '.join(shown)})"
        return self._report(expr, f"found no matching overload for '{expr.function}' applied to '{signature}'")

    # --- Aggregates

    def _join(self, before: Type | None, now: Type) -> Type:
        """The common type of the items so far; that literals of mixed types are refused is checked later."""
        if before is None:
            return now
        return most_general(before, now) if self._suits(before, now) else types.DYN

    def _unwrapped(self, expr: Expr, type: Type) -> Type:
        """The type of what an optional element holds."""
        if type.is_optional:
            return type.params[0]
        if not type.is_dyn:
            self._report(expr, f"expected type '{types.optional_of(type)}' but found '{type}'")
        return type

    def _list(self, expr: ListExpr) -> Type:
        joined: Type | None = None
        for position, element in enumerate(expr.elements):
            type = self.check(element)
            if position in expr.optionals:
                type = self._unwrapped(element, type)
            joined = self._join(joined, type)
        return types.list_of(joined if joined is not None else self._new_param())

    def _map(self, expr: MapExpr) -> Type:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in expr.entries:
            key_type = self._join(key_type, self.check(entry.key))
            type = self.check(entry.value)
            if entry.optional:
                type = self._unwrapped(entry.value, type)
            value_type = self._join(value_type, type)
        if key_type is None or value_type is None:
            return types.map_of(self._new_param(), self._new_param())
        return types.map_of(key_type, value_type)

    def _struct(self, expr: StructExpr) -> Type:
        named = self._named_type(expr.name.removeprefix("."))
        if named is None:
            return self._undeclared(expr, expr.name)
        if not isinstance(named, MessageType):
            return self._report(expr, f"'{named}' is not a message type")
        for entry in expr.fields:
            self._struct_entry(entry, named)
        return named

    def _struct_entry(self, entry: Entry, message: MessageType) -> None:
        given = self.check(entry.value)
        wanted = message.fields.get(entry.key) if message.fields is not None else None
        if wanted is None:
            self.issues.append(Issue(entry.at, f"undefined field '{entry.key}'"))
            return
        if entry.optional:
            given = self._unwrapped(entry.value, given)
        if not self._suits(given, wanted):
            shown = self.bindings.substitute(given, free_to_dyn=True)
            message_text = f"expected type of field '{entry.key}' is '{wanted}' but provided type is '{shown}'"
            self.issues.append(Issue(entry.at, message_text))

    # --- Comprehensions

    def _comprehension(self, expr: Comprehension) -> Type:
        self.check(expr.range)
        self.check(expr.initial)
        range_type = self.bindings.substitute(expr.range.type)
        self._scopes.append({expr.accumulator: expr.initial.type})
        self._scopes.append(self._loop_variables(expr, range_type))
        self.check(expr.condition)
        self._assert_type(expr.condition, types.BOOL)
        self.check(expr.step)
        self._assert_type(expr.step, expr.initial.type)
        self._scopes.pop()
        result = self.check(expr.result)
        self._scopes.pop()
        return self.bindings.substitute(result)

    def _loop_variables(self, expr: Comprehension, range_type: Type) -> dict[str, Type]:
        first = second = types.DYN
        match range_type.kind:
            case "list":
                (second,) = range_type.params
                first = types.INT if expr.variable2 is not None else second
            case "map":
                first, second = range_type.params
            case "dyn" | "any" | "error" | "param":
                self._suits(types.DYN, range_type)
            case _:
                problem = "cannot be range of a comprehension (must be list, map, or dynamic)"
                self._report(expr.range, f"expression of type '{range_type}' {problem}")
                first = second = types.ERROR
        variables = {expr.variable: first}
        if expr.variable2 is not None:
            variables[expr.variable2] = second
        return variables

    def _assert_type(self, expr: Expr, wanted: Type) -> None:
        if not self._suits(wanted, expr.type):
            self._report(expr, f"expected type '{wanted}' but found '{expr.type}'")


def _qualified_name(expr: Expr) -> str | None:
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only:
        prefix = _qualified_name(expr.operand)
        return f"{prefix}.{expr.field}" if prefix is not None else None
    return None
