"""Rendering: templates are plain files, with `@name@` for a value and lines that begin with `%` for a choice.

    %when webhooks          the whole file is only there if that is true (first line)
    %if multigroup          these lines are only there if that is true
    %if not multigroup
    %else
    %end

A name that is not known is an error, as is a choice that does not end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

__all__ = ("Values", "render", "render_path")

Values: TypeAlias = Mapping[str, str | bool]

_NAME = re.compile(r"@([a-z][a-z0-9_]*)@")
_WHEN, _IF, _ELSE, _END = "%when ", "%if ", "%else", "%end"


def render(template: str, values: Values) -> str | None:
    """The text of a template; None if it is not wanted."""
    lines = template.splitlines()
    condition = lines.pop(0).removeprefix(_WHEN) if template.startswith(_WHEN) else ""
    if condition and not _holds(condition, values):
        return None
    kept: list[str] = []
    choices: list[bool] = []
    for line in lines:
        if line.startswith(_IF):
            choices.append(_holds(line.removeprefix(_IF), values))
        elif line == _ELSE:
            choices[-1] = not choices[-1]
        elif line == _END:
            choices.pop()
        elif all(choices):
            kept += _filled(line, values)
    if choices:
        raise ValueError("%if without %end")
    return "\n".join(kept) + "\n"


def render_path(path: str, values: Values) -> str:
    """A file's name, with the values in it."""
    return _NAME.sub(lambda match: _text(match[1], values), path)


def _filled(line: str, values: Values) -> list[str]:
    """A line with its values. One that is nothing but an empty value is left out, and a value may have many lines."""
    match = _NAME.fullmatch(line.strip())
    if match is None:
        return [render_path(line, values)]
    indent = line[: len(line) - len(line.lstrip())]
    return [f"{indent}{part}" if part else "" for part in _text(match[1], values).splitlines()]


def _holds(condition: str, values: Values) -> bool:
    negated = condition.startswith("not ")
    name = condition.removeprefix("not ").strip()
    return bool(_value(name, values)) is not negated


def _text(name: str, values: Values) -> str:
    value = _value(name, values)
    if isinstance(value, bool):
        raise TypeError(f"@{name}@ is a choice, not a text")
    return value


def _value(name: str, values: Values) -> str | bool:
    try:
        return values[name]
    except KeyError:
        raise KeyError(f"the template asks for {name!r}, which nobody knows") from None
