"""Times as Go reads and writes them: durations in nanoseconds, dates and RFC 3339 times as nanoseconds since 1970.

Python's own types stop at microseconds and at the year 1, Go's do not; plain integers have neither limit.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

from kapstan.machinery.golang import quote

__all__ = (
    "SECOND",
    "civil",
    "format_duration",
    "format_rfc3339",
    "is_date",
    "is_datetime",
    "is_duration",
    "parse_date",
    "parse_datetime",
    "parse_duration",
    "parse_go_duration",
    "parse_rfc3339",
    "to_seconds",
)

SECOND = 1_000_000_000
_USUAL = 35  # characters of a time; fractions of a second may have any number of digits, and are not remembered then
_MAX_INT64 = 2**63 - 1
_EPOCH = date(1970, 1, 1)

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(ns|us|µs|μs|ms|s|m|h)")


def parse_go_duration(text: str) -> int | None:
    """`time.ParseDuration`: `1h2m3.5s`, `-10ms`, `0`; None if the text is no such duration."""
    sign, body = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if body == "0":
        return 0
    total, end = 0, 0
    for part in _PART.finditer(body):
        if part.start() != end:
            return None
        whole, fraction, bare, unit = part.groups()
        size = _UNITS[unit]
        digits = fraction or bare or ""
        total += int(whole or 0) * size + (int(digits) * size // 10 ** len(digits) if digits else 0)
        end = part.end()
    if not body or end != len(body) or total > _MAX_INT64 + (sign < 0):
        return None
    return sign * total


# A second notation, Scala's: `22 ns`, `3 weeks`. The last name of each row may be a beginning.
_NAMED_UNITS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), SECOND),
    (("m", "min"), 60 * SECOND),
    (("h", "hr", "hour"), 3600 * SECOND),
    (("d", "day"), 86_400 * SECOND),
    (("w", "wk", "week"), 7 * 86_400 * SECOND),
)
_NAMED_PART = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")


def parse_duration(text: str) -> int | None:
    """A duration as the format `duration` has it: Go's notation, or numbers with named units."""
    duration = parse_go_duration(text)
    if duration is not None:
        return duration
    total, found = 0, False
    for count, name in _NAMED_PART.findall(text):
        if int(count) > _MAX_INT64:
            return None
        size = _named_unit(name.lower())
        if size is not None:
            total, found = total + int(count) * size, True
    return _wrap_int64(total) if found else None


def _named_unit(name: str) -> int | None:
    matching = [size for names, size in _NAMED_UNITS if name in names or name.startswith(names[-1])]
    return sum(matching) if matching else None


def _wrap_int64(number: int) -> int:
    """Go's arithmetic wraps around."""
    return (number + 2**63) % 2**64 - 2**63


def is_duration(text: str) -> bool:
    return parse_duration(text) is not None


def format_duration(nanoseconds: int) -> str:
    """`time.Duration.String`: `1h2m3.5s`, `1.5ms`, `0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < SECOND:
        unit, size = ("ns", 1) if rest < 1_000 else ("µs", 1_000) if rest < 1_000_000 else ("ms", 1_000_000)
        return sign + _decimal(rest, size) + unit
    minutes, rest = divmod(rest, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return sign + text + _decimal(rest, SECOND) + "s"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")


_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?"
)
_LENIENT_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


def parse_date(text: str) -> int | None:
    """A full date as nanoseconds since 1970; None if it is none. Year 0 exists in Go."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    days = _days(year, month, day)
    return None if days is None else days * 86_400 * SECOND


def _days(year: int, month: int, day: int) -> int | None:
    # The calendar repeats every 400 years: any year is like one that Python knows.
    cycles, known = divmod(year, 400)
    try:
        return (date(known + 400, month, day) - _EPOCH).days + (cycles - 1) * 146_097
    except ValueError:
        return None


def is_date(text: str) -> bool:
    return parse_date(text) is not None


def parse_datetime(text: str, *, local: bool = False) -> int | None:
    """An RFC 3339 time as nanoseconds since 1970; `local` accepts one without a zone, as UTC."""
    match = _DATETIME.fullmatch(text)
    if match is None:
        return None
    day, hour, minute, second, fraction, utc, sign, zone_hour, zone_minute = match.groups()
    midnight = parse_date(day)
    if midnight is None or int(hour) > 23 or int(minute) > 59 or int(second) > 59 or not (utc or sign or local):
        return None
    offset = 0
    if sign:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            return None
        offset = (int(zone_hour) * 60 + int(zone_minute)) * (1 if sign == "+" else -1)
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second) - offset * 60
    return midnight + seconds * SECOND + int((fraction or "0")[:9].ljust(9, "0"))


_LAYOUT = "2006-01-02T15:04:05Z07:00"
# The elements of that layout: as it is written there, what it matches, what it is called, its range.
_ELEMENTS: tuple[tuple[str, str, str, range], ...] = (
    ("2006", "[0-9]{4}", "", range(0)),
    ("-", "-", "", range(0)),
    ("01", "[0-9]{2}", "month", range(1, 13)),
    ("-", "-", "", range(0)),
    ("02", "[0-9]{2}", "day", range(1, 32)),
    ("T", "T", "", range(0)),
    ("15", "[0-9]{1,2}", "hour", range(24)),
    (":", ":", "", range(0)),
    ("04", "[0-9]{2}", "minute", range(60)),
    (":", ":", "", range(0)),
    ("05", "[0-9]{2}", "second", range(60)),
    ("", "(?:[.,][0-9]+)?", "", range(0)),
    ("Z07:00", "Z|[+-][0-9]{2}:[0-9]{2}", "", range(0)),
)


def parse_rfc3339(text: str) -> int:
    """`time.Parse(time.RFC3339, text)` as nanoseconds since 1970; ValueError with Go's words."""
    rest = text
    parts: list[str] = []
    for written, pattern, name, allowed in _ELEMENTS:
        match = re.match(pattern, rest)
        if match is None:
            raise ValueError(
                f"parsing time {quote(text)} as {quote(_LAYOUT)}: cannot parse {quote(rest)} as {quote(written)}"
            )
        if name and int(match[0]) not in allowed:
            raise ValueError(f"parsing time {quote(text)}: {name} out of range")
        parts.append(match[0].zfill(2) if name == "hour" else match[0])
        rest = rest[match.end() :]
    if rest:
        raise ValueError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    parsed = parse_datetime("".join(parts))
    if parsed is None:
        raise ValueError(f"parsing time {quote(text)}: day out of range")
    return parsed


def is_datetime(text: str) -> bool:
    """The format `date-time`: more lenient than RFC 3339 about what is between seconds and zone."""
    day, _, rest = text.lower().partition("t")
    match = _LENIENT_TIME.fullmatch(rest.partition("t")[0])
    return match is not None and is_date(day) and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def civil(nanoseconds: int) -> tuple[int, int, int, int, int, int, int]:
    """Year, month, day, hour, minute, second and nanosecond of a time, in UTC."""
    seconds, nanosecond = divmod(nanoseconds, SECOND)
    days, second_of_day = divmod(seconds, 86_400)
    cycles, days = divmod(days, 146_097)  # again: the calendar repeats every 400 years
    day = _EPOCH + timedelta(days=days)
    minutes, second = divmod(second_of_day, 60)
    return day.year + 400 * cycles, day.month, day.day, minutes // 60, minutes % 60, second, nanosecond


def format_rfc3339(nanoseconds: int) -> str:
    """`time.RFC3339Nano` in UTC: no more fractional digits than there are."""
    year, month, day, hour, minute, second, nanosecond = civil(nanoseconds)
    fraction = f".{nanosecond:09d}".rstrip("0") if nanosecond else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"


def to_seconds(text: str) -> str:
    """An RFC 3339 time as meta/v1 writes it: in UTC, to the second. Objects carry the same few from write to write."""
    return _to_seconds(text) if len(text) <= _USUAL else _to_seconds.__wrapped__(text)


@lru_cache(maxsize=8192)
def _to_seconds(text: str) -> str:
    return format_rfc3339(parse_rfc3339(text) // SECOND * SECOND)
