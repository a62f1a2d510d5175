"""Loops: the comprehensions that macros expand to, each run as what its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from kapstan.apiserver.schema.cel.ast import Comprehension
from kapstan.apiserver.schema.cel.library.standard import find_in_map
from kapstan.apiserver.schema.cel.values import (
    EvaluationError,
    ListValue,
    MapValue,
    no_such_overload,
    type_of_value,
)

if TYPE_CHECKING:
    from kapstan.apiserver.schema.cel.evaluate import Compiler, Frame, Run

__all__ = ("LOOPS",)

# Sets the loop variables for each item in turn.
Steps: TypeAlias = "Callable[[Frame], Iterator[None]]"

# What an iteration costs beside the author's own parts, as cel-go counts its expansion.
_OVERHEAD = {"all": 3, "exists": 4, "exists_one": 2, "map": 12, "transformMap": 3, "transformMapEntry": 2}


def _steps(compiler: Compiler, expr: Comprehension) -> tuple[Steps, tuple[Run, ...]]:
    """The iteration over a range, and the author's parts compiled inside of it."""
    source = compiler.compile(expr.range)
    names = (expr.variable,) if expr.variable2 is None else (expr.variable, expr.variable2)
    slots = compiler.bind(*names)
    compiled = [compiler.whole(part) for part in expr.parts]
    compiler.release()
    cost = sum(part_cost for _, part_cost in compiled) + _OVERHEAD[expr.kind]
    iterate = _one_variable(source, slots[0], cost) if len(slots) == 1 else _two_variables(source, slots, cost)
    return iterate, tuple(run for run, _ in compiled)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, list | dict | ListValue | MapValue):
        return value
    name = type_of_value(value).kind.capitalize()
    raise EvaluationError(f"got 'types.{name}', expected iterable type")


def _one_variable(source: Run, slot: int, cost: int) -> Steps:
    def iterate(frame: Frame) -> Iterator[None]:
        meter = frame[0]
        for item in _items(source(frame)):
            meter.charge(cost)
            frame[slot] = item
            yield

    return iterate


def _two_variables(source: Run, slots: tuple[int, ...], cost: int) -> Steps:
    first, second = slots

    def iterate(frame: Frame) -> Iterator[None]:
        meter = frame[0]
        value = source(frame)
        if isinstance(value, dict | MapValue):
            pairs: Iterable[tuple[Any, Any]] = ((key, find_in_map(value, key)[1]) for key in value)
        else:
            pairs = enumerate(_items(value))
        for frame[first], frame[second] in pairs:
            meter.charge(cost)
            yield

    return iterate


def _quantifier(decisive: bool) -> Callable[[Compiler, Comprehension], Run]:
    """`all` stops at the first False and `exists` at the first True, whatever fails elsewhere."""

    def loop(compiler: Compiler, expr: Comprehension) -> Run:
        steps, (predicate,) = _steps(compiler, expr)

        def run(frame: Frame) -> bool:
            failure: EvaluationError | None = None
            for _ in steps(frame):
                try:
                    value = predicate(frame)
                except EvaluationError as error:
                    failure = failure or error
                    continue
                if value is decisive:
                    return bool(decisive)
                if type(value) is not bool:
                    failure = failure or no_such_overload()
            if failure is not None:
                raise failure
            return not decisive

        return run

    return loop


def _exists_one(compiler: Compiler, expr: Comprehension) -> Run:
    steps, (predicate,) = _steps(compiler, expr)
    return lambda frame: sum(_holds(predicate, frame) for _ in steps(frame)) == 1


def _holds(predicate: Run, frame: Frame) -> bool:
    value = predicate(frame)
    if value is True:
        return True
    if value is False:
        return False
    raise no_such_overload()


def _map(compiler: Compiler, expr: Comprehension) -> Run:
    """`map`, `filter` and `transformList`: a transformation, perhaps with a predicate before it."""
    steps, parts = _steps(compiler, expr)
    transform = parts[-1]
    if len(parts) == 1:
        return lambda frame: [transform(frame) for _ in steps(frame)]
    predicate = parts[0]
    return lambda frame: [transform(frame) for _ in steps(frame) if _holds(predicate, frame)]


def _transform_map(compiler: Compiler, expr: Comprehension) -> Run:
    """Keys stay, values are transformed; or, for entries, each item gives a map whose entries are added."""
    key_slot = compiler.size
    steps, parts = _steps(compiler, expr)
    transform = parts[-1]
    entry = expr.kind == "transformMapEntry"

    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in steps(frame):
            if len(parts) == 2 and not _holds(parts[0], frame):
                continue
            value = transform(frame)
            pairs = value.items() if entry else ((frame[key_slot], value),)
            for key, item in pairs:
                if key in result:
                    raise EvaluationError(f"insert failed: key {key} already exists")
                result[key] = item
        return result

    return run


def _bind(compiler: Compiler, expr: Comprehension) -> Run:
    """One value for a name."""
    value = compiler.compile(expr.parts[0])
    (slot,) = compiler.bind(expr.accumulator)
    body = compiler.compile(expr.parts[1])
    compiler.release()

    def run(frame: Frame) -> Any:
        frame[slot] = value(frame)
        return body(frame)

    return run


LOOPS: dict[str, Callable[[Compiler, Comprehension], Run]] = {
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": _exists_one,
    "map": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_map,
    "bind": _bind,
}
