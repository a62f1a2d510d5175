"""Checks of literals that are cheaper to refuse when a rule is written than when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapstan.apiserver.schema.cel.ast import Call, Comprehension, Expr, ListExpr, Literal, MapExpr, Select, StructExpr
from kapstan.apiserver.schema.cel.library.formatting import CLAUSES, clauses, mismatch
from kapstan.apiserver.schema.cel.source import Issue
from kapstan.apiserver.schema.cel.types import Type
from kapstan.apiserver.schema.formats.times import parse_go_duration, parse_rfc3339
from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp

__all__ = ("children", "literal_issues")


def children(expr: Expr) -> Iterator[Expr]:
    """The nodes directly below."""
    match expr:
        case Select():
            yield expr.operand
        case Call():
            if expr.target is not None:
                yield expr.target
            yield from expr.args
        case ListExpr():
            yield from expr.elements
        case MapExpr():
            for entry in expr.entries:
                yield from (entry.key, entry.value)
        case StructExpr():
            yield from (entry.value for entry in expr.fields)
        case Comprehension():
            yield from (expr.range, expr.initial, expr.condition, expr.step, expr.result)


def literal_issues(expr: Expr) -> list[Issue]:
    """Literals in the tree that can never be right: durations, times, patterns, templates, lists of mixed types."""
    issues: list[Issue] = []
    todo = [(expr, False)]
    seen: set[int] = set()
    while todo:
        node, in_format = todo.pop()
        if id(node) in seen:  # macros use what they were given more than once
            continue
        seen.add(id(node))
        in_format = in_format or (isinstance(node, Call) and node.function == "format")
        todo += ((child, in_format) for child in children(node))
        match node:
            case Call():
                issues += _call_issues(node)
            case ListExpr() if not in_format:
                issues += _list_issues(node)
            case MapExpr() if not in_format:
                issues += _map_issues(node)
    return issues


def _call_issues(call: Call) -> Iterator[Issue]:
    if call.function == "format":
        yield from _format_issues(call)
    arg = call.args[0] if call.args else None
    if isinstance(arg, Literal) and not _is_good(call.function, arg.value):
        yield Issue(arg.at, f"invalid {call.function} argument")


def _is_good(function: str, value: Any) -> bool:
    try:
        match function, value:
            case "duration", _:
                return type(value) is str and parse_go_duration(value) is not None
            case "timestamp", str():
                parse_rfc3339(value)
            case "matches", str():
                compile_regexp(value)
    except (ValueError, InvalidRegexp):
        return False
    return True


def _mismatch(expr: Expr, expected: Type, found: Type) -> Issue:
    return Issue(expr.at, f"expected type '{expected}' but found '{found}'")


def _list_issues(expr: ListExpr) -> Iterator[Issue]:
    expected: Type | None = None
    for position, element in enumerate(expr.elements):
        type = element.type
        if position in expr.optionals and type.params:
            (type,) = type.params
        if expected is not None and type != expected:
            yield _mismatch(element, expected, type)
            return
        expected = type


def _map_issues(expr: MapExpr) -> Iterator[Issue]:
    expected: tuple[Type, Type] | None = None
    for entry in expr.entries:
        value_type = entry.value.type
        if entry.optional and value_type.params:
            (value_type,) = value_type.params
        if expected is None:
            expected = (entry.key.type, value_type)
            continue
        if entry.key.type != expected[0]:
            yield _mismatch(entry.key, expected[0], entry.key.type)
        if value_type != expected[1]:
            yield _mismatch(entry.value, expected[1], value_type)


def _format_issues(call: Call) -> Iterator[Issue]:
    """A template that is written out is checked against arguments that are."""
    template, args = call.target, call.args[0]
    if not isinstance(template, Literal) or type(template.value) is not str or not isinstance(args, ListExpr):
        return
    try:
        wanted = clauses(template.value)
    except ValueError as error:
        yield Issue(call.at, str(error))
        return
    for position, (letter, _) in enumerate(wanted):
        if position >= len(args.elements):
            yield Issue(call.at, f"index {position} out of range")
            return
        element = args.elements[position]
        if element.type.kind != "dyn" and element.type.kind not in CLAUSES[letter]:
            yield Issue(element.at, mismatch(letter, element.type.runtime_name))
            return
    if len(args.elements) > len(wanted):
        counts = f"(expected {len(wanted)}, got {len(args.elements)})"
        yield Issue(call.at, f"too many arguments supplied to string.format {counts}")
