"""What the rules of many kinds have in common.

Rules are generators: each yields what is wrong, in the order in which Kubernetes finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kapstan.apiserver.schema.objectmeta import validate_labels
from kapstan.machinery.golang import Rendered, to_json
from kapstan.machinery.names import (
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_value_errors,
    path_segment_name_errors,
    qualified_name_errors,
)
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "FILE_MODE",
    "IMMUTABLE",
    "Object",
    "Rules",
    "absolute_count",
    "complaints",
    "conditions",
    "dns_label",
    "dns_subdomain",
    "env_name_errors",
    "file_mode",
    "header_name_errors",
    "immutable",
    "in_range",
    "label_name",
    "label_selector",
    "labels",
    "nonnegative",
    "nonnegative_quantity",
    "number_or_percent",
    "one_of",
    "path_segment",
    "port",
    "port_name_errors",
    "port_number",
    "positive",
    "prefixed_path",
    "qualified_name",
    "range_error",
    "selector_value",
    "struct",
)

Object = dict[str, Any]
Rules = Iterator[FieldError]

IMMUTABLE = "field is immutable"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_PORT_CHARACTERS = re.compile("[-a-z0-9]+")
_PERCENT = re.compile("[0-9]+%")
_HEADER_NAME = re.compile("[-A-Za-z0-9]+")


def complaints(value: str, path: Path, check: Callable[[str], Iterable[str]]) -> Rules:
    """What a check of texts has against a value."""
    for complaint in check(value):
        yield FieldError.invalid(path, value, complaint)


def dns_label(value: str, path: Path) -> Rules:
    return complaints(value, path, dns1123_label_errors)


def dns_subdomain(value: str, path: Path) -> Rules:
    return complaints(value, path, dns1123_subdomain_errors)


def qualified_name(value: str, path: Path) -> Rules:
    return complaints(value, path, qualified_name_errors)


label_name = qualified_name


def path_segment(value: str, path: Path) -> Rules:
    return complaints(value, path, path_segment_name_errors)


def labels(values: Mapping[str, str] | None, path: Path) -> Rules:
    yield from validate_labels(values or {}, path)


def one_of(value: str | None, path: Path, supported: Sequence[str], *, needed: bool = True) -> Rules:
    """A text that must be one of a few."""
    if not value:
        if needed:
            yield FieldError.required(path)
    elif value not in supported:
        yield FieldError.not_supported(path, value, supported)


def immutable(new: Any, old: Any, path: Path) -> Rules:
    if new != old:
        yield FieldError.invalid(path, new, IMMUTABLE)


# Numbers --------------------------------------------------------------------------------------------------------------


def nonnegative(value: int, path: Path) -> Rules:
    if value < 0:
        yield FieldError.invalid(path, value, "must be greater than or equal to 0")


def positive(value: int, path: Path) -> Rules:
    if value <= 0:
        yield FieldError.invalid(path, value, "must be greater than zero")


def nonnegative_quantity(text: str, path: Path) -> Rules:
    if Quantity(text) < 0:
        yield FieldError.invalid(path, text, "must be greater than or equal to 0")


def range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def in_range(value: int | None, path: Path, low: int, high: int) -> Rules:
    if value is not None and not low <= value <= high:
        yield FieldError.invalid(path, value, range_error(low, high))


def file_mode(value: int | None, path: Path) -> Rules:
    if value is not None and not 0 <= value <= 0o777:
        yield FieldError.invalid(path, value, FILE_MODE)


def number_or_percent(value: int | str, path: Path) -> Rules:
    """A number of pods, or a share of them."""
    if isinstance(value, int):
        yield from nonnegative(value, path)
    elif not _PERCENT.fullmatch(value):
        rule = "a valid percent string must be a numeric string followed by an ending '%'"
        detail = f"{rule} (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        yield FieldError.invalid(path, value, detail)


def absolute_count(value: int | str | None) -> int | None:
    """The number that is meant, if it is no percentage."""
    return value if isinstance(value, int) else None


# Ports ----------------------------------------------------------------------------------------------------------------


def port_number(value: int, path: Path) -> Rules:
    yield from in_range(value, path, 1, 65535)


def port_name_errors(name: str) -> list[str]:
    errors = ["must be no more than 15 characters"] if len(name.encode()) > 15 else []
    if not _PORT_CHARACTERS.fullmatch(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port(value: int | str, path: Path) -> Rules:
    """A port by its number or its name."""
    if isinstance(value, int):
        return port_number(value, path)
    return complaints(value, path, port_name_errors)


# Names in containers --------------------------------------------------------------------------------------------------


def env_name_errors(name: str) -> list[str]:
    if not name:
        return ["environment variable name must be non-empty"]
    if all(" " <= char <= "~" and char != "=" for char in name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def header_name_errors(name: str) -> list[str]:
    if _HEADER_NAME.fullmatch(name):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [f"{rule} (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"]


_HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_HTTP_PATH_RE = re.compile(_HTTP_PATH)


def prefixed_path(text: str, path: Path) -> Rules:
    """A path below a domain that says whose it is."""
    host, _, rest = text.partition("/")
    if not text:
        yield FieldError.required(path)
    elif not host or not rest:
        yield FieldError.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from dns_subdomain(host, path)
        if not _HTTP_PATH_RE.fullmatch(rest):
            yield FieldError.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


# What Go writes -------------------------------------------------------------------------------------------------------


def struct(**fields: Any) -> Rendered:
    """A Go struct as JSON: its fields are in the order of their declaration."""
    return Rendered("{" + ",".join(f'"{name}":{_written(value)}' for name, value in fields.items()) + "}")


def _written(value: Any) -> str:
    if isinstance(value, Rendered):
        return value
    return "[" + ",".join(map(_written, value)) + "]" if isinstance(value, list) else to_json(value)


def selector_value(selector: Mapping[str, Any] | None) -> Rendered | None:
    if selector is None:
        return None
    return struct(**{name: selector[name] for name in ("matchLabels", "matchExpressions") if selector.get(name)})


# Selectors and conditions ---------------------------------------------------------------------------------------------


def label_selector(selector: Mapping[str, Any] | None, path: Path) -> Rules:
    if selector is None:
        return
    yield from labels(selector.get("matchLabels"), path.child("matchLabels"))
    for position, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _selector_requirement(expression, path.child("matchExpressions").index(position))


def _selector_requirement(expression: Mapping[str, Any], path: Path) -> Rules:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield FieldError.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield FieldError.forbidden(path.child("values"), detail)
    else:
        yield FieldError.invalid(path.child("operator"), operator, "not a valid selector operator")
    yield from label_name(expression.get("key", ""), path.child("key"))
    for position, value in enumerate(values):
        yield from complaints(value, path.child("values").index(position), label_value_errors)


_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RE = re.compile(_REASON)
_MAX_REASON, _MAX_MESSAGE = 1024, 32 * 1024


def conditions(values: Sequence[Mapping[str, Any]] | None, path: Path) -> Rules:
    """Conditions of the common type."""
    seen: set[str] = set()
    for position, condition in enumerate(values or ()):
        at, type = path.index(position), condition.get("type", "")
        if type in seen:
            yield FieldError.duplicate(at.child("type"), type)
        seen.add(type)
        yield from _condition(condition, at)


def _condition(condition: Mapping[str, Any], path: Path) -> Rules:
    yield from label_name(condition.get("type", ""), path.child("type"))
    status = condition.get("status", "")
    if status not in ("True", "False", "Unknown"):
        yield FieldError.not_supported(path.child("status"), status, ("False", "True", "Unknown"))
    if condition.get("observedGeneration", 0) < 0:
        at = path.child("observedGeneration")
        yield FieldError.invalid(at, condition["observedGeneration"], "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield FieldError.required(path.child("lastTransitionTime"))
    reason = condition.get("reason", "")
    if not reason:
        yield FieldError.required(path.child("reason"))
    else:
        if not _REASON_RE.fullmatch(reason):
            rule = (
                "a condition reason must start with alphabetic character, optionally followed by a string of "
                "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
            )
            examples = "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', "
            yield FieldError.invalid(
                path.child("reason"), reason, f"{rule} (e.g. {examples}regex used for validation is '{_REASON}')"
            )
        if len(reason.encode()) > _MAX_REASON:
            yield FieldError.too_long(path.child("reason"), _MAX_REASON)
    if len(condition.get("message", "").encode()) > _MAX_MESSAGE:
        yield FieldError.too_long(path.child("message"), _MAX_MESSAGE)
