"""Macros: calls that are rewritten while parsing. Their expansions are cel-go's, which type errors show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapstan.apiserver.schema.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select

__all__ = ("MACROS", "Macro", "MacroError")

ACCUMULATOR = "@result"
_OLD_ACCUMULATOR = "__result__"
_UNUSED = "#unused"

# From the place of the call, its receiver and its arguments.
Macro: TypeAlias = Callable[[int, Expr, list[Expr]], Expr]


class MacroError(ValueError):
    """The arguments do not suit the macro."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def _has(at: int, target: Expr, args: list[Expr]) -> Expr:
    (arg,) = args
    if not isinstance(arg, Select) or arg.test_only:
        raise MacroError(arg.at, "invalid argument to has() macro")
    return Select(at, arg.operand, arg.field, test_only=True)


def _variable(arg: Expr, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.at, complaint)
    if arg.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(arg.at, "iteration variable overwrites accumulator variable")
    return arg.name


def _variables(args: list[Expr], count: int) -> tuple[str, str | None]:
    first = _variable(args[0], "argument must be a simple name")
    if count == 1:
        return first, None
    second = _variable(args[1], "argument must be a simple name")
    if first == second:
        raise MacroError(args[1].at, f"duplicate variable name: {first}")
    return first, second


def _fold(
    at: int,
    kind: str,
    target: Expr,
    variables: tuple[str, str | None],
    initial: Expr,
    condition: Expr,
    step: Expr,
    parts: tuple[Expr, ...],
    result: Expr | None = None,
) -> Comprehension:
    accumulator = result or Ident(at, ACCUMULATOR)
    return Comprehension(at, kind, target, *variables, ACCUMULATOR, initial, condition, step, accumulator, parts)


def _all(count: int) -> Macro:
    def expand(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args, count)
        accumulator = Ident(at, ACCUMULATOR)
        condition = Call(at, "@not_strictly_false", [accumulator])
        step = Call(at, "_&&_", [accumulator, args[-1]])
        return _fold(at, "all", target, variables, Literal(at, True), condition, step, (args[-1],))

    return expand


def _exists(count: int) -> Macro:
    def expand(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args, count)
        accumulator = Ident(at, ACCUMULATOR)
        condition = Call(at, "@not_strictly_false", [Call(at, "!_", [accumulator])])
        step = Call(at, "_||_", [accumulator, args[-1]])
        return _fold(at, "exists", target, variables, Literal(at, False), condition, step, (args[-1],))

    return expand


def _exists_one(count: int) -> Macro:
    def expand(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args, count)
        accumulator = Ident(at, ACCUMULATOR)
        more = Call(at, "_+_", [accumulator, Literal(at, 1)])
        step = Call(at, "_?_:_", [args[-1], more, accumulator])
        result = Call(at, "_==_", [accumulator, Literal(at, 1)])
        return _fold(at, "exists_one", target, variables, Literal(at, 0), Literal(at, True), step, (args[-1],), result)

    return expand


def _to_list(at: int, target: Expr, variables: tuple[str, str | None], parts: list[Expr]) -> Expr:
    """A list of what the last part makes of each item, where the part before it, if there is one, holds."""
    accumulator = Ident(at, ACCUMULATOR)
    step: Expr = Call(at, "_+_", [accumulator, ListExpr(at, [parts[-1]])])
    if len(parts) == 2:
        step = Call(at, "_?_:_", [parts[0], step, accumulator])
    return _fold(at, "map", target, variables, ListExpr(at, []), Literal(at, True), step, tuple(parts))


def _map(at: int, target: Expr, args: list[Expr]) -> Expr:
    return _to_list(at, target, (_variable(args[0], "argument is not an identifier"), None), args[1:])


def _filter(at: int, target: Expr, args: list[Expr]) -> Expr:
    return _to_list(at, target, (_variable(args[0], "argument is not an identifier"), None), [args[1], args[0]])


def _transform_list(at: int, target: Expr, args: list[Expr]) -> Expr:
    return _to_list(at, target, _variables(args, 2), args[2:])


def _transform_map(entry: bool) -> Macro:
    def expand(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables, parts = _variables(args, 2), args[2:]
        accumulator = Ident(at, ACCUMULATOR)
        inserted = [parts[-1]] if entry else [Ident(at, variables[0]), parts[-1]]
        step: Expr = Call(at, "cel.@mapInsert", [accumulator, *inserted])
        if len(parts) == 2:
            step = Call(at, "_?_:_", [parts[0], step, accumulator])
        kind = "transformMapEntry" if entry else "transformMap"
        return _fold(at, kind, target, variables, MapExpr(at, []), Literal(at, True), step, tuple(parts))

    return expand


def _bind(at: int, variable: str, value: Expr, body: Expr) -> Comprehension:
    """A variable with a value: a loop over nothing."""
    nothing = ListExpr(at, [])
    condition, step = Literal(at, False), Ident(at, variable)
    return Comprehension(at, "bind", nothing, _UNUSED, None, variable, value, condition, step, body, (value, body))


def _opt_map(at: int, target: Expr, args: list[Expr]) -> Expr:
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, "optMap() variable name must be a simple identifier")
    bound = _bind(at, args[0].name, Call(at, "value", [], target), args[1])
    return _if_present(at, target, Call(at, "optional.of", [bound]))


def _opt_flat_map(at: int, target: Expr, args: list[Expr]) -> Expr:
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, "optFlatMap() variable name must be a simple identifier")
    return _if_present(at, target, _bind(at, args[0].name, Call(at, "value", [], target), args[1]))


def _if_present(at: int, target: Expr, then: Expr) -> Expr:
    return Call(at, "_?_:_", [Call(at, "hasValue", [], target), then, Call(at, "optional.none", [])])


def _sort_by(at: int, target: Expr, args: list[Expr]) -> Expr:
    """The keys of all items are computed first, then the items are ordered by them."""
    if not isinstance(target, ListExpr | Select | Ident | Comprehension | Call):
        raise MacroError(
            target.at, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, "sortBy variable name must be a simple identifier")
    name = "@__sortBy_input__"
    keys = _to_list(at, Ident(at, name), (args[0].name, None), [args[1]])
    return _bind(at, name, target, Call(at, "@sortByAssociatedKeys", [keys], Ident(at, name)))


# By name, number of arguments and whether there is a receiver.
MACROS: dict[tuple[str, int, bool], Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("all", 3, True): _all(2),
    ("exists", 2, True): _exists(1),
    ("exists", 3, True): _exists(2),
    ("exists_one", 2, True): _exists_one(1),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 2, True): _exists_one(1),
    ("existsOne", 3, True): _exists_one(2),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map(entry=False),
    ("transformMap", 4, True): _transform_map(entry=False),
    ("transformMapEntry", 3, True): _transform_map(entry=True),
    ("transformMapEntry", 4, True): _transform_map(entry=True),
    ("optMap", 2, True): _opt_map,
    ("optFlatMap", 2, True): _opt_flat_map,
    ("sortBy", 2, True): _sort_by,
}
