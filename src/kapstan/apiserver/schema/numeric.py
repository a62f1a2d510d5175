"""Numbers as Go has them: a JSON number is an int64 if it is written as an integer that fits, else a float64."""

from __future__ import annotations

import math
from typing import Any

from kapstan.machinery.golang import format_float

__all__ = (
    "INT32",
    "INT64",
    "Interval",
    "as_int64",
    "fits_float32",
    "format_number",
    "go_number",
    "is_json_integer",
    "parses_as_integer",
)


class Interval:
    """Numbers from `start` up to, but not including, `stop`.

    Not a range: that searches one by one for anything but a plain int, for centuries.
    """

    __slots__ = ("start", "stop")

    def __init__(self, start: int, stop: int) -> None:
        self.start = start
        self.stop = stop

    def __contains__(self, number: Any) -> bool:
        return bool(self.start <= number < self.stop)


INT64 = Interval(-(2**63), 2**63)
INT32 = Interval(-(2**31), 2**31)
_SAFE = float(2**53 - 1)
_TOLERANCE = 1e-9


def go_number(value: Any) -> Any:
    """An integer beyond int64 is a float64; any other value is itself."""
    return float(value) if type(value) is int and value not in INT64 else value


def is_json_integer(number: float) -> bool:
    """Whether a float counts as an integer: it is one, or so close above one that rounding may have done it."""
    if not -_SAFE <= number <= _SAFE:
        return False
    whole = math.trunc(number)
    if number == whole:
        return True
    return whole > 0 and (number - whole) / (number + whole) < _TOLERANCE


def as_int64(number: float) -> int:
    """Go's conversion: the fraction is cut off, and what does not fit becomes the least int64."""
    if number != number or not -(2.0**63) <= number < 2.0**63:
        return INT64.start
    return math.trunc(number)


def parses_as_integer(number: int | float, format: str) -> bool:
    """Whether the number, written out, reads as an integer of the format."""
    if isinstance(number, float) and (math.isinf(number) or number != math.trunc(number)):
        return False
    return int(number) in (INT32 if format == "int32" else INT64)


def fits_float32(number: int | float) -> bool:
    """Whether the number is in the range of a float32, whatever is lost by rounding."""
    return abs(float(number)) < 3.4028235677973366e38


def format_number(number: int | float) -> str:
    """`%v`."""
    return format_float(number) if isinstance(number, float) else str(number)
