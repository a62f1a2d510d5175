"""Calls at run time: how an overload is found where types do not decide, and what operators do themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.ast import Call, Expr, ListExpr, Literal
from kapstan.apiserver.schema.cel.costs import AUTHORIZATION
from kapstan.apiserver.schema.cel.declarations import Overload
from kapstan.apiserver.schema.cel.fields import optional_field
from kapstan.apiserver.schema.cel.library.optionals import optional_index
from kapstan.apiserver.schema.cel.library.standard import index, is_in
from kapstan.apiserver.schema.cel.types import Type
from kapstan.apiserver.schema.cel.values import EvaluationError, Optional, equal, no_such_overload, type_of_value
from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp

if TYPE_CHECKING:
    from kapstan.apiserver.schema.cel.evaluate import Compiler, Frame, Run

__all__ = ("SPECIAL", "InstantiationError", "charged", "dispatcher", "invocation")


class InstantiationError(ValueError):
    """The expression has the right types and still can never run."""


def invocation(implementation: Callable[..., Any], args: list[Run]) -> Run:
    match args:
        case []:
            return lambda frame: implementation()
        case [only]:
            return lambda frame: implementation(only(frame))
        case [first, second]:
            return lambda frame: implementation(first(frame), second(frame))
    return lambda frame: implementation(*[arg(frame) for arg in args])


def dispatcher(function: str, overloads: list[Overload]) -> Callable[..., Any]:
    """Finds the overload by the types that the arguments turn out to have."""

    def run(*args: Any) -> Any:
        for overload in overloads:
            if all(map(_accepts, overload.params, args)):
                return overload.run(*args)
        raise _no_overload(function, args)

    return run


def _accepts(param: Type, value: Any) -> bool:
    """Whether a value has the type, as far as it shows; of lists, the first item is looked at."""
    if param.kind in ("param", "dyn"):
        return True
    found = type_of_value(value)
    if found.kind != param.kind or found.name != param.name:
        return False
    if param.kind == "list" and len(value):
        return _accepts(param.params[0], next(iter(value)))
    return True


_PLAIN_FAILURES = frozenset(("contains", "startsWith", "endsWith", "matches", "!_", "-_"))
_ORDERED = frozenset(("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"))


def _no_overload(function: str, args: tuple[Any, ...]) -> EvaluationError:
    """The several ways in which cel-go says so."""
    kinds = [type_of_value(arg) for arg in args]
    if function in _PLAIN_FAILURES or (function.startswith("_") and kinds[0].kind in _ORDERED | {"list"}):
        return no_such_overload()
    if function == "size" or function.startswith("_"):
        return EvaluationError(f"no such overload: {function}")
    return EvaluationError(f"no such overload: {function}({', '.join(kind.runtime_name for kind in kinds)})")


def charged(implementation: Callable[..., Any], args: list[Run], charge: Callable[..., int]) -> Run:
    """A call whose cost depends on its arguments."""

    def run(frame: Frame) -> Any:
        given = [arg(frame) for arg in args]
        result = implementation(*given)
        frame[0].charge(charge(*given, result))
        return result

    return run


def authorization(implementation: Callable[..., Any], args: list[Run]) -> Run:
    """A call that would ask somebody else: it costs much, and takes little."""

    def run(frame: Frame) -> Any:
        result = implementation(*[arg(frame) for arg in args])
        frame[0].charge_elsewhere(AUTHORIZATION)
        return result

    return run


def _conditional(compiler: Compiler, expr: Call) -> Run:
    condition, then, otherwise = map(compiler.compile, expr.args)

    def run(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return otherwise(frame)
        raise no_such_overload()

    return run


def _logical(decisive: bool) -> Callable[[Compiler, Call], Run]:
    """`&&` and `||`: one term decides, whatever fails elsewhere."""

    def special(compiler: Compiler, expr: Call) -> Run:
        terms = [compiler.compile(arg) for arg in expr.args]

        def run(frame: Frame) -> bool:
            failure: EvaluationError | None = None
            for term in terms:
                try:
                    value = term(frame)
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

    return special


def _equality(negated: bool) -> Callable[[Compiler, Call], Run]:
    """Equal types of scalars need no look at the values' types."""
    plain = ("string", "int", "bool", "bytes")

    def special(compiler: Compiler, expr: Call) -> Run:
        left, right = map(compiler.compile, expr.args)
        kinds = [arg.type.kind for arg in expr.args]
        if kinds[0] == kinds[1] and kinds[0] in plain:
            if negated:
                return lambda frame: bool(left(frame) != right(frame))
            return lambda frame: bool(left(frame) == right(frame))

        def run(frame: Frame) -> bool:
            first, second = left(frame), right(frame)
            frame[0].charge_comparison(first, second)
            return equal(first, second) is not negated

        return run

    return special


def _or_value(compiler: Compiler, expr: Call) -> Run:
    """`or` and `orValue` evaluate the alternative only if it is needed."""
    assert expr.target is not None
    target, other = compiler.compile(expr.target), compiler.compile(expr.args[0])
    unwrap = expr.function == "orValue"

    def run(frame: Frame) -> Any:
        value = target(frame)
        if not isinstance(value, Optional):
            raise no_such_overload()
        if value.present:
            return value.value if unwrap else value
        return other(frame)

    return run


def _optional_select_call(compiler: Compiler, expr: Call) -> Run:
    operand, field = compiler.compile(expr.args[0]), expr.args[1]
    assert isinstance(field, Literal)
    name = field.value
    return lambda frame: optional_field(operand(frame), name)


def _optional_index_call(compiler: Compiler, expr: Call) -> Run:
    operand, key = map(compiler.compile, expr.args)
    return lambda frame: optional_index(operand(frame), key(frame))


def _index_call(compiler: Compiler, expr: Call) -> Run:
    operand, key = map(compiler.compile, expr.args)

    def run(frame: Frame) -> Any:
        container = operand(frame)
        if isinstance(container, Optional):
            return optional_index(container, key(frame))
        return index(container, key(frame))

    return run


def _pattern_call(compiler: Compiler, expr: Call) -> Run:
    """A pattern that is written out is compiled once, and must compile."""
    pattern = expr.args[0]
    if isinstance(pattern, Literal) and type(pattern.value) is str:
        try:
            compile_regexp(pattern.value)
        except InvalidRegexp as error:
            raise InstantiationError(str(error)) from None
    return compiler.ordinary_call(expr)


def _membership(compiler: Compiler, expr: Call) -> Run:
    """Membership in a list of texts that are written out is a lookup."""
    needle, haystack = expr.args
    if needle.type == types.STRING and isinstance(haystack, ListExpr) and not haystack.optionals:
        texts = {element.value for element in haystack.elements if isinstance(element, Literal)}
        if len(texts) == len(haystack.elements):
            value = compiler.compile(needle)
            return lambda frame: bool(value(frame) in texts)
    return invocation(is_in, [compiler.compile(arg) for arg in expr.args])


_CONVERSIONS = ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")


def _conversion(compiler: Compiler, expr: Call) -> Run:
    """A constant is converted once, and must convert."""
    try:
        value = _constant_value(expr)
    except EvaluationError as error:
        raise InstantiationError(str(error)) from None
    return compiler.ordinary_call(expr) if value is None else lambda frame: value


def _constant_value(expr: Expr) -> Any:
    if isinstance(expr, Literal):
        return expr.value
    if not isinstance(expr, Call) or expr.function not in _CONVERSIONS or expr.target is not None:
        return None
    value = _constant_value(expr.args[0])
    return None if value is None else dispatcher(expr.function, expr.overloads)(value)


SPECIAL: dict[str, Callable[[Compiler, Call], Run]] = {
    "_?_:_": _conditional,
    "_&&_": _logical(False),
    "_||_": _logical(True),
    "_==_": _equality(negated=False),
    "_!=_": _equality(negated=True),
    "_?._": _optional_select_call,
    "_[?_]": _optional_index_call,
    "or": _or_value,
    "orValue": _or_value,
    "@in": _membership,
    "_[_]": _index_call,
    "find": _pattern_call,
    "findAll": _pattern_call,
    **dict.fromkeys(_CONVERSIONS, _conversion),
}
