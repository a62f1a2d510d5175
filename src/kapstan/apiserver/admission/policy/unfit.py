"""Values that expressions make but JSON does not have, and what kube-apiserver says where one is applied.

Go's own notation of them is part of the refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kapstan.apiserver.schema.cel.values import Duration, Timestamp
from kapstan.machinery.apply.types import Atom

__all__ = ("unfit",)


class _GoValue(NamedTuple):
    type: str  # %T
    syntax: str  # %#v
    text: str  # %v


def unfit(atom: Atom, value: Any, path: str = "") -> Iterator[str]:
    """Where a value has parts that no field can have."""
    shown = _go_value(value)
    if shown is not None:
        yield f"{path}: {_complaint(atom, shown)}"
    elif isinstance(value, dict) and atom.map is not None:
        for name, item in value.items():
            part = atom.map.fields.get(name) or atom.map.element
            if part is not None:
                yield from unfit(part, item, f"{path}.{name}")
    elif isinstance(value, list) and atom.list is not None:
        for position, item in enumerate(value):
            yield from unfit(atom.list.element, item, f"{path}[{position}]")


def _complaint(atom: Atom, value: _GoValue) -> str:
    if atom.map is not None:
        return f"expected map, got &{{{value.text}}}"
    if atom.list is not None:
        return f"expected list, got &{{{value.text}}}"
    scalar = atom.scalar.name if atom.scalar is not None else "untyped"
    if scalar == "numeric":
        return f"expected numeric (int or float), got {value.type}"
    if scalar == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{value.syntax}}}"
    return f"expected {'boolean' if scalar == 'boolean' else 'any scalar'}, got &{{{value.text}}}"


def _go_value(value: Any) -> _GoValue | None:
    if value is None:
        return _GoValue("structpb.NullValue", "0", "NULL_VALUE")
    if isinstance(value, bytes):
        syntax = ", ".join(f"{byte:#x}" for byte in value)
        return _GoValue("[]uint8", f"[]uint8{{{syntax}}}", f"[{' '.join(map(str, value))}]")
    if isinstance(value, Duration):
        return _GoValue("time.Duration", str(value.ns), str(value))
    if isinstance(value, Timestamp):
        return _go_time(value)
    return None


def _go_time(value: Timestamp) -> _GoValue:
    seconds, nanoseconds = divmod(value.ns, 10**9)
    at = datetime.fromtimestamp(seconds, UTC)
    syntax = (
        f"time.Date({at.year}, time.{at:%B}, {at.day}, {at.hour}, {at.minute}, {at.second}, {nanoseconds}, time.UTC)"
    )
    return _GoValue("time.Time", syntax, f"{at:%Y-%m-%d %H:%M:%S} +0000 UTC")
