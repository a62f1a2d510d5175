"""`format()`: the clauses `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X` and `%o`, written as cel-go writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema.cel.library.conversions import to_string
from kapstan.apiserver.schema.cel.values import EvaluationError, ListValue, MapValue, type_of_value
from kapstan.machinery.golang import quote

__all__ = ("CLAUSES", "clauses", "format_text", "mismatch")

_CLAUSE = re.compile(r"%(?:(%)|(?:\.([0-9]*))?(.)?)", re.DOTALL)
_DEFAULT_PRECISION = 6
_MAX_PRECISION = 1000  # no number has more digits to show, and each would be written
_SCALARS = ("string", "bool", "bytes", "int", "uint", "double")
# The kinds of values that each clause takes.
CLAUSES: dict[str, tuple[str, ...]] = {
    "s": (*_SCALARS, "timestamp", "duration", "type", "null", "list", "map"),
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
}
_EXPECTED = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


def mismatch(clause: str, type_name: str) -> str:
    """The complaint about a value that the clause cannot write."""
    return f"error during formatting: {_EXPECTED[clause]}, was given {type_name}"


def clauses(template: str) -> list[tuple[str, int | None]]:
    """The clauses of a template with their precisions; ValueError with cel-go's words."""
    found = []
    for percent, precision, letter in _CLAUSE.findall(template):
        if percent:
            continue
        if not letter:
            raise ValueError("unexpected end of string")
        if letter not in CLAUSES:
            raise ValueError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        if len(precision) > 4 or int(precision or 0) > _MAX_PRECISION:
            why = f"precision {precision} exceeds maximum allowed precision {_MAX_PRECISION}"
            raise ValueError(f"could not parse formatting clause: error while parsing precision: {why}")
        found.append((letter, int(precision) if precision else None))
    return found


def format_text(template: str, items: Any) -> str:
    """A template with its clauses replaced."""
    try:
        wanted = clauses(template)
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    values = list(items)
    parts: list[str] = []
    for position, (letter, precision) in enumerate(wanted):
        if position >= len(values):
            raise EvaluationError(f"index {position} out of range")
        parts.append(_WRITERS[letter](values[position], precision))
    written = iter(parts)
    return _CLAUSE.sub(lambda match: "%" if match[1] else next(written), template)


def _refuse(clause: str, value: Any) -> EvaluationError:
    return EvaluationError(mismatch(clause, type_of_value(value).runtime_name))


def _string(value: Any, _: int | None = None) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | ListValue):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, dict):
        return _map((key, item) for key, item in value.items())
    if isinstance(value, MapValue):
        return _map((key, value.find(key)[1]) for key in value)
    if type_of_value(value).kind == "type":
        return str(value)
    try:
        return to_string(value)
    except EvaluationError:
        raise _refuse("s", value) from None


def _map(entries: Any) -> str:
    pairs = sorted((_quoted(key), _quoted(item)) for key, item in entries)
    return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"


def _quoted(value: Any) -> str:
    text = _string(value)
    if type(value) is str:
        return quote(text)
    if type(value) is bytes:
        return "b" + quote(text)
    if type(value) is float and not math.isfinite(value):
        return quote(text)
    return text


def _decimal(value: Any, _: int | None) -> str:
    if type_of_value(value).kind not in ("int", "uint"):
        raise _refuse("d", value)
    return str(int(value))


def _number(value: Any, clause: str) -> float:
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if type(value) is str and value in special:
        return special[value]
    if type(value) is not float:
        raise _refuse(clause, value)
    return value or 0.0  # zero has no sign here


def _nonfinite(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    return None if math.isfinite(number) else "∞" if number > 0 else "-∞"


def _fixed(value: Any, precision: int | None) -> str:
    number = _number(value, "f")
    digits = _DEFAULT_PRECISION if precision is None else precision
    return _nonfinite(number) or f"{number:,.{digits}f}"


def _scientific(value: Any, precision: int | None) -> str:
    """The clause's number is a width in cel-go, so six digits are written; exponents are written as powers."""
    number = _number(value, "e")
    if (text := _nonfinite(number)) is not None:
        return text
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    power = f"{'-' if exponent[0] == '-' else ''}{exponent[1:].zfill(2)}"
    superscript = power.translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
    return f"{mantissa}×10{superscript}"


def _binary(value: Any, _: int | None) -> str:
    if type_of_value(value).kind not in ("int", "uint", "bool"):
        raise _refuse("b", value)
    return f"{int(value):b}"


def _hex(upper: bool) -> Callable[[Any, int | None], str]:
    def write(value: Any, _: int | None) -> str:
        if isinstance(value, str | bytes):
            text = (value.encode() if isinstance(value, str) else value).hex()
        elif type_of_value(value).kind in ("int", "uint"):
            text = f"{int(value):x}"
        else:
            raise _refuse("x", value)
        return text.upper() if upper else text

    return write


def _octal(value: Any, _: int | None) -> str:
    if type_of_value(value).kind not in ("int", "uint"):
        raise _refuse("o", value)
    return f"{int(value):o}"


_WRITERS: dict[str, Callable[[Any, int | None], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex(upper=False),
    "X": _hex(upper=True),
    "o": _octal,
}
