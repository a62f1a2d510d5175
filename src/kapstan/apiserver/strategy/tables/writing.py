"""Writing: how tables show ages, labels, selectors and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kapstan.machinery import labels

__all__ = (
    "NONE",
    "UNKNOWN",
    "UNSET",
    "age",
    "container_cells",
    "human_duration",
    "joined",
    "label_selector",
    "label_set",
    "name_of",
    "shortened",
    "since",
)

Object = dict[str, Any]

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY


def human_duration(length: timedelta) -> str:
    """A duration as precise as a person wants it: `90s`, `5m3s`, `3h15m`, `12d`, `3y40d`."""
    total = length.total_seconds()
    seconds = int(total)
    if seconds < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s", 60)
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m", 60)
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h", 24)
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d", 365)
    return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, large_mark: str, small: int, small_mark: str, per_large: int) -> str:
    """In two units, without the second where it is nothing."""
    rest = seconds // small % per_large
    return f"{seconds // large}{large_mark}" + (f"{rest}{small_mark}" if rest else "")


def since(timestamp: str | None, now: datetime) -> str:
    """How long ago something was."""
    return human_duration(now - datetime.fromisoformat(timestamp)) if timestamp else UNKNOWN


def age(obj: Object, now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def name_of(obj: Object) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def label_set(values: Mapping[str, str] | None) -> str:
    """Labels as `a=b,c=d`."""
    return ",".join(f"{key}={value}" for key, value in sorted(values.items())) if values else NONE


def label_selector(selector: Mapping[str, Any] | None) -> str:
    try:
        return str(labels.from_label_selector(selector)) or NONE
    except labels.InvalidSelector:
        return "<error>"


def container_cells(template: Mapping[str, Any] | None) -> tuple[str, str]:
    """The names and the images of a template's containers."""
    containers = ((template or {}).get("spec") or {}).get("containers") or ()
    return ",".join(one["name"] for one in containers), ",".join(one.get("image", "") for one in containers)


def shortened(items: Sequence[str], limit: int, *, separator: str = ",", empty: str = "") -> str:
    """The first of many, and how many there are besides."""
    shown = separator.join(items[:limit])
    return f"{shown} + {len(items) - limit} more..." if len(items) > limit else shown or empty


def joined(items: Iterable[str], empty: str = NONE) -> str:
    return ",".join(items) or empty
