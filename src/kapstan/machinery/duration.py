"""Duration: Go's notation for time spans (`1h2m3.5s`), as `metav1.Duration` has it."""

from __future__ import annotations

import re
from datetime import timedelta

__all__ = ("Duration",)

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


class Duration(timedelta):
    """A time span that reads and writes Go's notation. Finer than a microsecond is rounded."""

    @classmethod
    def parse(cls, text: str) -> Duration:
        """`300ms`, `-1.5h`, `2h45m`, `0`; ValueError otherwise."""
        sign, body = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
        if body == "0":
            return cls()
        nanoseconds, end = 0.0, 0
        for part in _PART.finditer(body):
            if part.start() != end:
                break
            nanoseconds += float(part[1]) * _UNITS[part[2]]
            end = part.end()
        if not body or end != len(body):
            raise ValueError(f"{text!r} is not a duration such as 300ms, 1.5h or 2h45m")
        return cls(microseconds=sign * nanoseconds / 1000)

    @classmethod
    def of(cls, span: timedelta) -> Duration:
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    def __str__(self) -> str:
        total = self // timedelta(microseconds=1)
        sign, total = ("-", -total) if total < 0 else ("", total)
        if total == 0:
            return "0s"
        if total < 1_000_000:  # Go switches to the smaller unit below one second.
            unit, size = ("ms", 1000) if total >= 1000 else ("µs", 1)
            return f"{sign}{_decimal(total, size)}{unit}"
        minutes, micros = divmod(total, 60_000_000)
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h" if hours else ""
        if hours or minutes:
            text += f"{minutes}m"
        return f"{sign}{text}{_decimal(micros, 1_000_000)}s"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
