"""Variables in templates, written as clusterctl knows them.

`${NAME}` must have a value; `${NAME:=text}` and `${NAME:-text}` are `text` if it has none or an empty one,
`${NAME=text}` and `${NAME-text}` only if it has none. `$$` is a dollar sign. A default may hold variables itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from kapstan.machinery.errors import ConfigError

__all__ = ("Variable", "substitute", "variables_of")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = (":=", ":-", "=", "-")


class Variable(Struct, frozen=True, order=True):
    """A variable of a template."""

    name: str
    default: str | None = None  # None: it must have a value


class _Reference(Struct, frozen=True):
    """One place where a variable is used."""

    start: int
    end: int
    name: str  # empty: an escaped dollar sign
    operator: str = ""
    default: str = ""


def variables_of(template: str) -> list[Variable]:
    """The variables of a template, in the order of their names, each with the first default that it is given."""
    found: dict[str, Variable] = {}
    for reference in _all_references(template):
        default = reference.default if reference.operator else None
        known = found.get(reference.name)
        if known is None or (known.default is None and default is not None):
            found[reference.name] = Variable(reference.name, default)
    return sorted(found.values())


def substitute(template: str, values: Mapping[str, str]) -> str:
    """The template with values in place of variables; ConfigError names all that have none."""
    missing = sorted({one.name for one in _all_references(template) if _value(one, values) is None})
    if missing:
        raise ConfigError(f"no value for {', '.join(missing)}: set it in the environment, or with --set NAME=VALUE")
    return _substituted(template, values)


def _substituted(template: str, values: Mapping[str, str]) -> str:
    parts, at = [], 0
    for reference in _references(template):
        parts += [template[at : reference.start], _value(reference, values) or ""]
        at = reference.end
    return "".join([*parts, template[at:]])


def _value(reference: _Reference, values: Mapping[str, str]) -> str | None:
    if not reference.name:
        return "$"
    value = values.get(reference.name)
    if reference.operator.startswith(":"):
        value = value or None
    if value is None and reference.operator:
        return _substituted(reference.default, values)
    return value


def _all_references(template: str) -> Iterator[_Reference]:
    """Also those in defaults."""
    for reference in _references(template):
        if reference.name:
            yield reference
            yield from _all_references(reference.default)


def _references(template: str) -> Iterator[_Reference]:
    at = template.find("$")
    while at >= 0:
        end = at + 1
        if template.startswith("$$", at):
            end = at + 2
            yield _Reference(at, end, "")
        elif template.startswith("${", at):
            end = _closing(template, at)
            yield _reference(template, at, end)
        at = template.find("$", end)


def _reference(template: str, start: int, end: int) -> _Reference:
    inside = template[start + 2 : end - 1]
    match = _NAME.match(inside)
    rest = inside[match.end() :] if match else inside
    operator = next((one for one in _OPERATORS if rest.startswith(one)), "")
    if match is None or (rest and not operator):
        line = template.count("\n", 0, start) + 1
        raise ConfigError(
            f"line {line} of the template: ${{{inside}}} is not a variable: write ${{NAME}} or ${{NAME:=default}}"
        )
    return _Reference(start, end, match[0], operator, rest[len(operator) :])


def _closing(template: str, start: int) -> int:
    """Where the reference that starts here ends, past its brace."""
    depth, at = 0, start
    while at < len(template):
        if template.startswith("${", at):
            depth, at = depth + 1, at + 2
            continue
        if template[at] == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    line = template.count("\n", 0, start) + 1
    raise ConfigError(f"line {line} of the template: ${{ is never closed: write ${{NAME}} or ${{NAME:=default}}")
