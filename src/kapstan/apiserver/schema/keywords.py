"""Keywords: each validating keyword of a schema node as a test and the complaint if it fails.

Both ways to validate are made of these: the quick one, which only says yes or no, and the thorough one, which words
every failure. Complaints and their order equal kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kapstan.apiserver.schema import formats
from kapstan.apiserver.schema.numeric import (
    as_int64,
    fits_float32,
    format_number,
    go_number,
    is_json_integer,
    parses_as_integer,
)
from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp
from kapstan.machinery.golang import quote, to_json
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "Failure",
    "Keyword",
    "deep_equal",
    "effective_format",
    "enum_keyword",
    "format_keyword",
    "invalid",
    "is_unique",
    "nameless",
    "number_keywords",
    "string_keywords",
    "type_invalid",
    "type_names",
)


class Failure(NamedTuple):
    """A complaint: about which path below the root, in which words, and as which field error."""

    name: str
    message: str
    make: Callable[[Path], FieldError]


class Keyword(NamedTuple):
    """A test of one keyword: what it accepts, and how it complains of a value at a path."""

    accepts: Callable[[Any], bool]
    complain: Callable[[Any, str], Failure]


def invalid(name: str, value: Any, message: str) -> Failure:
    return Failure(name, message, lambda path: FieldError.invalid(path, value, message))


def type_invalid(name: str, wanted: str, found: str) -> Failure:
    message = f"{name} in body must be of type {wanted}: {quote(found)}"
    return Failure(name, message, lambda path: FieldError.type_invalid(path, found, message))


def nameless(message: str) -> Failure:
    """A complaint that kube-apiserver makes without naming the field."""
    return Failure("", message, lambda path: FieldError.invalid(path, "", message))


def type_names(schema: Schema) -> tuple[str, ...]:
    """The types that a value may have; none means any."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def effective_format(schema: Schema) -> str:
    """The format, where it is one that is checked for that type."""
    match type_names(schema):
        case () | ("string",) | ("integer", "string"):
            return schema.format if formats.checker(schema.format) is not None else ""
        case ("integer",):
            return schema.format if schema.format in ("int32", "int64") else ""
        case ("number",):
            return schema.format if schema.format in ("float", "double") else ""
    return ""


def string_keywords(schema: Schema) -> list[Keyword]:
    """Length and pattern; only the first that fails is reported."""
    found: list[Keyword] = []
    if (most := schema.max_length) is not None:
        found.append(Keyword(lambda text: len(text) <= most, lambda text, name: _too_long(name, most)))
    if (least := schema.min_length) is not None:

        def too_short(text: str, name: str) -> Failure:
            return invalid(name, text, f"{name} in body should be at least {least} chars long")

        found.append(Keyword(lambda text: len(text) >= least, too_short))
    if schema.pattern:
        found.append(_pattern(schema.pattern))
    return found


def _too_long(name: str, limit: int) -> Failure:
    message = f"{name} in body should be at most {limit} chars long"
    return Failure(name, message, lambda path: FieldError.too_long(path, limit))


def _pattern(pattern: str) -> Keyword:
    try:
        accepts = compile_regexp(pattern).matches
        shown = pattern
    except InvalidRegexp as error:
        accepts = lambda text: False  # noqa: E731
        shown = f"{pattern}, but pattern is invalid: {error}"
    return Keyword(accepts, lambda text, name: invalid(name, text, f"{name} in body should match '{shown}'"))


def format_keyword(schema: Schema) -> Keyword | None:
    """The format of a string."""
    format = effective_format(schema)
    accepts = formats.checker(format) if format else None
    if accepts is None:
        return None
    return Keyword(accepts, lambda text, name: type_invalid(name, format, text))


# --- Numbers -----------------------------------------------------------------------------------------------------


def number_keywords(schema: Schema) -> list[Keyword]:
    """Range of the type, multipleOf, minimum, maximum. Several may fail at once."""
    names = type_names(schema)
    kind = names[0] if len(names) == 1 and names[0] in ("integer", "number") else ""
    limits = _Limits(kind, effective_format(schema) if kind else "")
    found: list[Keyword] = []
    if kind == "integer" or limits.format == "float":
        found.append(limits.range_of("Checked", None))
    if (factor := schema.multiple_of) is not None:
        found += limits.bound("MultipleOf", factor, _multiple_failure)
    if (minimum := schema.minimum) is not None:
        exclusive = schema.exclusive_minimum
        found += limits.bound("Minimum boundary", minimum, _order_failure(exclusive, greater=True))
    if (maximum := schema.maximum) is not None:
        exclusive = schema.exclusive_maximum
        found += limits.bound("Maximum boundary", maximum, _order_failure(exclusive, greater=False))
    return found


class _Limits(NamedTuple):
    """The numeric type that values and bounds must fit."""

    kind: str
    format: str

    def fits(self, number: int | float) -> bool:
        if self.kind == "integer":
            return parses_as_integer(number, self.format)
        return self.format != "float" or fits_float32(number)

    def range_of(self, what: str, fixed: float | None) -> Keyword:
        """The value, or a fixed bound, must be a number of the type. Go does not name the field here."""

        def accepts(number: Any) -> bool:
            return self.fits(number if fixed is None else fixed)

        def complain(_: Any, name: str) -> Failure:
            described = f"with format {self.format}" if self.format else "(default format)"
            return nameless(f"{what} value must be of type {self.kind} {described} in {name}")

        return Keyword(accepts, complain)

    def bound(self, what: str, bound: float, failure: Callable[[Any, float, str], Failure | None]) -> list[Keyword]:
        """A bound that the type cannot hold is a failure of its own, and is still compared with, as a float."""
        fits = self.fits(float(bound))

        def compare(number: Any, name: str) -> Failure | None:
            native = isinstance(number, int) and fits
            return failure(number if native else float(number), as_int64(bound) if native else float(bound), name)

        def complain(number: Any, name: str) -> Failure:
            found = compare(number, name)
            assert found is not None
            return found

        comparison = Keyword(lambda number: compare(number, "") is None, complain)
        return [comparison] if fits else [self.range_of(what, float(bound)), comparison]


def _multiple_failure(number: int | float, factor: int | float, name: str) -> Failure | None:
    if factor <= 0:
        shown = format_number(factor)
        return invalid(name, factor, f"factor MultipleOf declared for {name} must be positive: {shown}")
    if isinstance(number, int):
        is_multiple = number % factor == 0
    else:
        is_multiple = is_json_integer(1 / factor * number if factor < 1 else number / factor)
    message = f"{name} in body should be a multiple of {format_number(factor)}"
    return None if is_multiple else invalid(name, number, message)


def _order_failure(exclusive: bool, *, greater: bool) -> Callable[[Any, float, str], Failure | None]:
    word = ("greater" if greater else "less") + (" than" if exclusive else " than or equal to")

    def failure(number: int | float, bound: int | float, name: str) -> Failure | None:
        distance = (number > bound) - (number < bound)
        if not greater:
            distance = -distance
        if distance > 0 or (distance == 0 and not exclusive):
            return None
        return invalid(name, number, f"{name} in body should be {word} {format_number(bound)}")

    return failure


# --- Enumerations ------------------------------------------------------------------------------------------------


def enum_keyword(schema: Schema) -> Keyword | None:
    """One of the listed values, after the conversions that Go's reflection permits. Null never is."""
    allowed = schema.enum
    if not allowed:
        return None
    texts = frozenset(value for value in allowed if type(value) is str)
    only_texts = len(texts) == len(set(map(to_json, allowed)))

    def accepts(value: Any) -> bool:
        if type(value) is str or (only_texts and type(value) is not int):
            return value in texts if type(value) is str else False
        return any(_converts_to(go_number(value), go_number(wanted)) for wanted in allowed)

    def complain(value: Any, name: str) -> Failure:
        supported = [value if type(value) is str else to_json(value) for value in allowed]
        message = f"{name} in body should be one of {supported}"
        return Failure(name, message, lambda path: FieldError.not_supported(path, value, supported))

    return Keyword(accepts, complain)


def _converts_to(value: Any, wanted: Any) -> bool:
    match value, wanted:
        case bool(), _:
            return value is wanted
        case int(), str():
            return (chr(value) if 0 <= value < 0x110000 else "\ufffd") == wanted
        case int(), float():
            return float(value) == wanted
        case float(), int() if type(wanted) is int:
            return as_int64(value) == wanted
    return deep_equal(value, wanted)


def deep_equal(left: Any, right: Any) -> bool:
    """`reflect.DeepEqual` of decoded JSON: unlike Python's, 1, 1.0 and True differ."""
    if type(left) is not type(right):
        return False
    if type(left) is dict:
        return left.keys() == right.keys() and all(deep_equal(item, right[key]) for key, item in left.items())
    if type(left) is list:
        return len(left) == len(right) and all(map(deep_equal, left, right))
    return bool(left == right)


def is_unique(value: list[Any]) -> bool:
    """Whether no two items are equal."""
    return not any(deep_equal(item, other) for position, item in enumerate(value) for other in value[:position])
