"""How Go writes values: Kubernetes' messages are made with Go's formatting verbs, and clients compare them.

Each function equals one Go call to the byte: `quote` is `strconv.Quote` (`%q`), `to_json` is `json.Marshal`,
`format_float` is `%v` of a float64.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

__all__ = ("Rendered", "format_float", "format_value", "join_quoted", "quote", "to_json")

_NAMED_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_HTML_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class Rendered(str):
    """A value that is already written as Go writes it."""

    __slots__ = ()


def quote(text: str) -> str:
    """`strconv.Quote`: double quotes, with what is not printable escaped."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    named = _NAMED_ESCAPES.get(char)
    if named is not None:
        return named
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def join_quoted(values: Iterable[str]) -> str:
    """Values as `"a", "b"`."""
    return ", ".join(map(quote, values))


def format_float(number: float) -> str:
    """`%v` of a float64: the shortest digits that read back, with an exponent below 1e-4 and from 1e6 on."""
    return _float(number, plain=range(-4, 6))


def to_json(value: Any) -> str:
    """`json.Marshal`: compact, keys sorted, HTML characters escaped. Integers beyond int64 are floats, as in Go."""
    if isinstance(value, float):
        return _json_float(value)
    if isinstance(value, int) and not _MIN_INT64 <= value <= _MAX_INT64:
        return _json_float(float(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json_string(key)}:{to_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(to_json, value)) + "]"
    if isinstance(value, str):
        return _json_string(value)
    return json.dumps(value)


def _json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_HTML_ESCAPES)


def _json_float(number: float) -> str:
    """JSON numbers turn to exponents later than `%v`, and without a padded exponent."""
    text = _float(number, plain=range(-6, 21))
    return re.sub(r"e-0(\d)$", r"e-\1", text)


def _float(number: float, plain: range) -> str:
    """The shortest digits, written without an exponent where the decimal exponent is in `plain`."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "+Inf" if number > 0 else "-Inf"
    mantissa, _, exponent_text = f"{number!r}e".partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text[:-1] or 0)
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + exponent - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return sign + "0"
    power = point - 1
    if power not in plain:
        tail = "." + digits[1:] if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def format_value(value: Any) -> str:
    """`%v` of a decoded JSON value."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and not _MIN_INT64 <= value <= _MAX_INT64):
        return format_float(float(value))
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{format_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(format_value, value)) + "]"
    return str(value)
