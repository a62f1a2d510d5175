"""Conversions between types, and the parts of times."""

from __future__ import annotations

import math
import re
import zoneinfo
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.values import (
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    Uint,
    type_of_value,
)
from kapstan.apiserver.schema.formats.times import SECOND, civil, parse_go_duration, parse_rfc3339
from kapstan.apiserver.schema.numeric import INT64
from kapstan.machinery.golang import format_float

__all__ = ("CONVERSIONS", "to_string")

CONVERSIONS = Library()


def _convert(id: str, function: str, source: str, result: str, run: Callable[[Any], Any]) -> None:
    CONVERSIONS.add(id, f"{function}({source}) -> {result}", run, member=False)


def _failed(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _same(value: Any) -> Any:
    return value


def _bool_from_string(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _failed("string", "bool")


def _int_from_string(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+", text) and int(text) in INT64:
        return int(text)
    raise _failed("string", "int")


def _uint_from_string(text: str) -> Uint:
    if re.fullmatch(r"[0-9]+", text) and int(text) < 2**64:
        return Uint(text)
    raise _failed("string", "uint")


_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.IGNORECASE)


def _double_from_string(text: str) -> float:
    if _FLOAT.fullmatch(text):
        value = float(text)
        if not math.isinf(value) or "inf" in text.lower():
            return value
    raise _failed("string", "double")


def _int_from_double(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(number)


def _uint_from_double(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


def _uint_from_int(number: int) -> Uint:
    if number < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _int_from_uint(number: Uint) -> int:
    if number not in INT64:
        raise EvaluationError("integer overflow")
    return int(number)


def _duration_from_string(text: str) -> Duration:
    parsed = parse_go_duration(text)
    if parsed is None:
        raise _failed("string", "google.protobuf.Duration")
    return Duration(parsed)


def _duration_from_int(_: int) -> Duration:
    raise _failed("int", "google.protobuf.Duration")  # declared by cel-go, and never possible


def _timestamp_from_string(text: str) -> Timestamp:
    try:
        return Timestamp(parse_rfc3339(text))
    except ValueError:
        raise _failed("string", "google.protobuf.Timestamp") from None


def _string_from_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _string_from_duration(value: Duration) -> str:
    whole, rest = divmod(abs(value.ns), SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if value.ns < 0 else ''}{whole}{fraction}s"


_STRINGS: dict[str, Callable[[Any], str]] = {
    "string": str,
    "bool": lambda value: "true" if value else "false",
    "bytes": _string_from_bytes,
    "double": format_float,
    "duration": _string_from_duration,
    "int": str,
    "timestamp": str,
    "uint": lambda value: str(int(value)),
}


def to_string(value: Any) -> str:
    """`string(value)`."""
    convert = _STRINGS.get(type_of_value(value).kind)
    if convert is None:
        raise EvaluationError("no such overload")
    return convert(value)


def _declare_conversions() -> None:
    _convert("type", "type", "A", "type(A)", lambda value: TypeValue(type_of_value(value).runtime_name))
    _convert("bool_to_bool", "bool", "bool", "bool", _same)
    _convert("string_to_bool", "bool", "string", "bool", _bool_from_string)
    _convert("bytes_to_bytes", "bytes", "bytes", "bytes", _same)
    _convert("string_to_bytes", "bytes", "string", "bytes", lambda text: text.encode())
    _convert("double_to_double", "double", "double", "double", _same)
    _convert("int64_to_double", "double", "int", "double", float)
    _convert("string_to_double", "double", "string", "double", _double_from_string)
    _convert("uint64_to_double", "double", "uint", "double", float)
    _convert("duration_to_duration", "duration", "duration", "duration", _same)
    _convert("int64_to_duration", "duration", "int", "duration", _duration_from_int)
    _convert("string_to_duration", "duration", "string", "duration", _duration_from_string)
    _convert("to_dyn", "dyn", "A", "dyn", _same)
    _convert("int64_to_int64", "int", "int", "int", _same)
    _convert("double_to_int64", "int", "double", "int", _int_from_double)
    _convert("duration_to_int64", "int", "duration", "int", lambda value: value.ns)
    _convert("string_to_int64", "int", "string", "int", _int_from_string)
    _convert("timestamp_to_int64", "int", "timestamp", "int", lambda value: value.ns // SECOND)
    _convert("uint64_to_int64", "int", "uint", "int", _int_from_uint)
    for kind, convert in _STRINGS.items():
        _convert(f"{kind}_to_string", "string", kind, "string", convert)
    _convert("timestamp_to_timestamp", "timestamp", "timestamp", "timestamp", _same)
    _convert("int64_to_timestamp", "timestamp", "int", "timestamp", lambda seconds: Timestamp(seconds * SECOND))
    _convert("string_to_timestamp", "timestamp", "string", "timestamp", _timestamp_from_string)
    _convert("uint64_to_uint64", "uint", "uint", "uint", _same)
    _convert("double_to_uint64", "uint", "double", "uint", _uint_from_double)
    _convert("int64_to_uint64", "uint", "int", "uint", _uint_from_int)
    _convert("string_to_uint64", "uint", "string", "uint", _uint_from_string)


_declare_conversions()

# --- Parts of times ------------------------------------------------------------------------------------------------

_UTC_PARTS: dict[str, Callable[[tuple[int, ...], datetime], int]] = {
    "getFullYear": lambda parts, day: parts[0],
    "getMonth": lambda parts, day: parts[1] - 1,
    "getDayOfYear": lambda parts, day: day.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda parts, day: parts[2] - 1,
    "getDate": lambda parts, day: parts[2],
    "getDayOfWeek": lambda parts, day: day.isoweekday() % 7,
    "getHours": lambda parts, day: parts[3],
    "getMinutes": lambda parts, day: parts[4],
    "getSeconds": lambda parts, day: parts[5],
    "getMilliseconds": lambda parts, day: parts[6] // 1_000_000,
}
_DURATION_UNITS = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND, "getMilliseconds": 10**6}


def _part(name: str) -> Callable[..., int]:
    take = _UTC_PARTS[name]

    def run(timestamp: Timestamp, zone: str = "UTC") -> int:
        parts = civil(timestamp.ns + _offset(timestamp, zone) * SECOND)
        return take(parts, datetime(*parts[:3], tzinfo=UTC))

    return run


def _offset(timestamp: Timestamp, zone: str) -> int:
    """Seconds east of UTC at that time: from `+02:00` or from a zone's name."""
    if zone in ("UTC", ""):
        return 0
    hours, colon, minutes = zone.partition(":")
    if colon:
        try:
            total = int(hours) * 60 + (-int(minutes) if zone.startswith("-") else int(minutes))
        except ValueError:
            bad = hours if not re.fullmatch(r"[+-]?[0-9]+", hours) else minutes
            raise EvaluationError(f'strconv.Atoi: parsing "{bad}": invalid syntax') from None
        return total * 60
    try:
        found = zoneinfo.ZoneInfo(zone).utcoffset(
            datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=timestamp.ns // SECOND)
        )
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {zone}") from None
    return int(found.total_seconds()) if found is not None else 0


def _duration_part(unit: int) -> Callable[[Duration], int]:
    return lambda value: (
        int(value.ns / unit) if abs(value.ns) < 2**53 else (abs(value.ns) // unit) * (1 if value.ns > 0 else -1)
    )


for _name in _UTC_PARTS:
    CONVERSIONS.add(f"timestamp_{_name}", f"timestamp.{_name}() -> int", _part(_name))
    CONVERSIONS.add(f"timestamp_{_name}_with_tz", f"timestamp.{_name}(string) -> int", _part(_name))
    if _name in _DURATION_UNITS:
        CONVERSIONS.add(f"duration_{_name}", f"duration.{_name}() -> int", _duration_part(_DURATION_UNITS[_name]))
