"""Kubernetes' own types for values that are texts elsewhere: quantities, semantic versions, named formats, patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kapstan.apiserver.schema import formats
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.values import NONE, EvaluationError, Opaque, Optional
from kapstan.apiserver.schema.formats.urls import InvalidURL, parse_request_uri
from kapstan.apiserver.schema.numeric import INT64
from kapstan.apiserver.schema.regexp import InvalidRegexp, Regexp, compile_regexp
from kapstan.machinery import names
from kapstan.machinery.golang import quote
from kapstan.machinery.quantity import Quantity

__all__ = ("KUBERNETES",)

_QUANTITY = types.object_type("kubernetes.Quantity")
_SEMVER = types.object_type("kubernetes.Semver")
_FORMAT = types.object_type("kubernetes.NamedFormat")
KUBERNETES = Library(Quantity=_QUANTITY, Semver=_SEMVER, Format=_FORMAT)
_add = KUBERNETES.add

# --- Quantities ----------------------------------------------------------------------------------------------------


class QuantityValue(Opaque):
    """An amount such as `1.5Gi`.

    `whole` says that Go holds it as an integer without a scale; 1.0, 1000m and 1.5Gi are not held so.
    """

    __slots__ = ("quantity", "whole")

    cel_type = _QUANTITY

    def __init__(self, quantity: Quantity, whole: bool) -> None:
        self.quantity = quantity
        self.whole = whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantityValue) and self.quantity == other.quantity

    def __hash__(self) -> int:
        return hash(self.quantity)

    def compare(self, other: QuantityValue) -> int:
        left, right = self.quantity.value, other.quantity.value
        return int(left > right) - int(left < right)


_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WHOLE = re.compile(r"[+-]?0*([0-9]+)(?:([KMGTPE])i|[kMGTPE]|[eE][+]?[0-9]+)?")


def _quantity(text: str) -> QuantityValue:
    try:
        quantity = Quantity(text)
    except (ValueError, ArithmeticError):
        raise EvaluationError(_QUANTITY_RULE) from None
    return QuantityValue(quantity, _is_whole(text, quantity))


def _is_whole(text: str, quantity: Quantity) -> bool:
    match = _WHOLE.fullmatch(text)
    if match is None or quantity.value not in INT64:
        return False
    if match[2] is None:
        return len(match[1]) <= 18
    exponent = ("KMGTPE".index(match[2]) + 1) * 10
    return 15 - len(match[1]) - exponent * 3 // 10 - 1 >= 0


def _as_integer(value: QuantityValue) -> int:
    if not value.whole:
        raise EvaluationError("cannot convert value to integer")
    return int(value.quantity.value)


def _succeeds(run: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        try:
            run(value)
        except EvaluationError:
            return False
        return True

    return test


def _combine(sign: int) -> Callable[[QuantityValue, QuantityValue | int], QuantityValue]:
    def run(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
        amount = other if isinstance(other, QuantityValue) else QuantityValue(Quantity(other), True)
        result = value.quantity + amount.quantity if sign > 0 else value.quantity - amount.quantity
        return QuantityValue(result, value.whole and amount.whole and result.value in INT64)

    return run


_plus, _minus = _combine(1), _combine(-1)

_add("string_to_quantity", "quantity(string) -> Quantity", _quantity, member=False)
_add("is_quantity_string", "isQuantity(string) -> bool", _succeeds(_quantity), member=False)
_add("quantity_sign", "sign(Quantity) -> int", lambda value: value.compare(_quantity("0")), member=False)
_add("quantity_is_greater_than", "Quantity.isGreaterThan(Quantity) -> bool", lambda a, b: a.compare(b) > 0)
_add("quantity_is_less_than", "Quantity.isLessThan(Quantity) -> bool", lambda a, b: a.compare(b) < 0)
_add("quantity_compare_to", "Quantity.compareTo(Quantity) -> int", lambda a, b: a.compare(b))
_add("quantity_get_float", "Quantity.asApproximateFloat() -> double", lambda value: float(value.quantity.value))
_add("quantity_get_int", "Quantity.asInteger() -> int", _as_integer)
_add("quantity_is_integer", "Quantity.isInteger() -> bool", _succeeds(_as_integer))
_add("quantity_add", "Quantity.add(Quantity) -> Quantity", _plus)
_add("quantity_add_int", "Quantity.add(int) -> Quantity", _plus)
_add("quantity_sub", "Quantity.sub(Quantity) -> Quantity", _minus)
_add("quantity_sub_int", "Quantity.sub(int) -> Quantity", _minus)

# --- Semantic versions ---------------------------------------------------------------------------------------------


class SemverValue(Opaque):
    """A semantic version. Build metadata does not count in comparisons."""

    __slots__ = ("numbers", "pre_release")

    cel_type = _SEMVER

    def __init__(self, numbers: tuple[int, ...], pre_release: tuple[str, ...]) -> None:
        self.numbers = numbers
        self.pre_release = pre_release

    def _order(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre_release)
        return (self.numbers, not parts, parts)

    def compare(self, other: SemverValue) -> int:
        left, right = self._order(), other._order()
        return int(left > right) - int(left < right)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(self._order())


_NAME = re.compile("[0-9A-Za-z-]+")


def _semver(text: str, normalize: bool = False) -> SemverValue:
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    patch, plus, build = parts[2].partition("+")
    patch, dash, pre_release = patch.partition("-")
    numbers = tuple(map(_version_number, ("Major", "Minor", "Patch"), (parts[0], parts[1], patch)))
    names = tuple(pre_release.split(".")) if dash else ()
    for name in names:
        _check_name(name, "Prerelease")
    for name in build.split(".") if plus else ():
        if not name:
            raise EvaluationError("Build meta data is empty")
        if not _NAME.fullmatch(name):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quote(name)}")
    return SemverValue(numbers, names)


def _version_number(which: str, text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise EvaluationError(f"Invalid character(s) found in {which.lower()} number {quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise EvaluationError(f"{which} number must not contain leading zeroes {quote(text)}")
    return int(text)


def _check_name(name: str, what: str) -> None:
    if not name:
        raise EvaluationError(f"{what} is empty")
    if name.isdigit() and len(name) > 1 and name.startswith("0"):
        raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quote(name)}")
    if not _NAME.fullmatch(name):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quote(name)}")


def _normalized(text: str) -> str:
    """Without a leading `v`, without leading zeros, with all three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[position] = stripped if stripped[:1].isdigit() else "0" + stripped
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


def _is_semver(text: str, normalize: bool = False) -> bool:
    return _succeeds(lambda value: _semver(value, normalize))(text)


_add("string_to_semver", "semver(string) -> Semver", _semver, member=False)
_add("string_bool_to_semver", "semver(string, bool) -> Semver", _semver, member=False)
_add("is_semver_string", "isSemver(string) -> bool", _is_semver, member=False)
_add("is_semver_string_bool", "isSemver(string, bool) -> bool", _is_semver, member=False)
_add("semver_is_greater_than", "Semver.isGreaterThan(Semver) -> bool", lambda a, b: a.compare(b) > 0)
_add("semver_is_less_than", "Semver.isLessThan(Semver) -> bool", lambda a, b: a.compare(b) < 0)
_add("semver_compare_to", "Semver.compareTo(Semver) -> int", lambda a, b: a.compare(b))
for _position, _word in enumerate(("major", "minor", "patch")):
    _add(f"semver_{_word}", f"Semver.{_word}() -> int", lambda value, at=_position: value.numbers[at])

# --- Named formats -------------------------------------------------------------------------------------------------


class FormatValue(Opaque):
    """A format that texts can be validated against."""

    __slots__ = ("complaints", "name")

    cel_type = _FORMAT

    def __init__(self, name: str, complaints: Callable[[str], list[str]]) -> None:
        self.name = name
        self.complaints = complaints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _checked(format: str, complaint: str) -> Callable[[str], list[str]]:
    check = formats.checker(format)
    assert check is not None
    return lambda text: [] if check(text) else [complaint]


def _uri_complaints(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except InvalidURL as error:
        return [str(error)]
    return []


_FORMATS = {
    "dns1123Label": names.dns1123_label_errors,
    "dns1123Subdomain": names.dns1123_subdomain_errors,
    "dns1035Label": names.dns1035_label_errors,
    "qualifiedName": names.qualified_name_errors,
    "dns1123LabelPrefix": lambda text: names.name_is_dns_label(text, True),
    "dns1123SubdomainPrefix": lambda text: names.name_is_dns_subdomain(text, True),
    "dns1035LabelPrefix": lambda text: names.dns1035_label_errors(names.masked_prefix(text)),
    "labelValue": names.label_value_errors,
    "uri": _uri_complaints,
    "uuid": _checked("uuid", "does not match the UUID format"),
    "byte": _checked("byte", "invalid base64"),
    "date": _checked("date", "invalid date"),
    "datetime": _checked("datetime", "invalid datetime"),
}
_FORMAT_VALUES = {name: FormatValue(name, complaints) for name, complaints in _FORMATS.items()}


def _named_format(name: str) -> Optional:
    found = _FORMAT_VALUES.get(name)
    return Optional(found) if found is not None else NONE


def _validate(format: FormatValue, text: str) -> Optional:
    complaints = format.complaints(text)
    return Optional(complaints) if complaints else NONE


_add("format-validate", "Format.validate(string) -> optional(list(string))", _validate)
_add("format-named", "format.named(string) -> optional(Format)", _named_format, member=False)
for _name, _value in _FORMAT_VALUES.items():
    _add(f"format.{_name}", f"format.{_name}() -> Format", lambda value=_value: value, member=False)

# --- Patterns ------------------------------------------------------------------------------------------------------


def _pattern(text: str) -> Regexp:
    try:
        return compile_regexp(text)
    except InvalidRegexp as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _pattern(pattern).find(text)
    return text[found[0] : found[1]] if found is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _pattern(pattern).find_all(text, limit)


_add("string_find_string", "string.find(string) -> string", _find)
_add("string_find_all_string", "string.findAll(string) -> list(string)", _find_all)
_add("string_find_all_string_int", "string.findAll(string, int) -> list(string)", _find_all)
