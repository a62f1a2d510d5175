"""Cron schedules: five fields or a name such as `@daily`, and what is wrong with the others."""

from __future__ import annotations

import re

from kapstan.apiserver.schema.formats.times import parse_go_duration
from kapstan.machinery.golang import quote

__all__ = ("schedule_error",)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


class _Wrong(Exception):
    """Why a schedule cannot be read."""


def schedule_error(schedule: str) -> str:
    """What is wrong with a schedule; "" if nothing is."""
    text = schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = text.partition(" ")[2].strip()
    try:
        if text.startswith("@"):
            _check_descriptor(text)
        else:
            _check_fields(text.split())
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if parse_go_duration(duration) is None:
            raise _Wrong(f"failed to parse duration {text}: time: invalid duration {quote(duration)}")
        return
    raise _Wrong(f"unrecognized descriptor: {text}")


def _check_fields(fields: list[str]) -> None:
    if len(fields) != 5:
        raise _Wrong(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if part:
                _check_range(part, low, high, names)


def _check_range(text: str, low: int, high: int, names: dict[str, int]) -> None:
    steps = text.split("/")
    ends = steps[0].split("-")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = _number(ends[0], names)
        if len(ends) > 2:
            raise _Wrong(f"too many hyphens: {text}")
        end = _number(ends[1], names) if len(ends) == 2 else start
    step = 1
    if len(steps) == 2:
        step = _number(steps[1], {})
        if len(ends) == 1 and ends[0] not in ("*", "?"):
            end = high
    elif len(steps) > 2:
        raise _Wrong(f"too many slashes: {text}")
    if start < low:
        raise _Wrong(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise _Wrong(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise _Wrong(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise _Wrong(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch("[+-]?[0-9]+", text):
        raise _Wrong(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if number < 0:
        raise _Wrong(f"negative number ({number}) not allowed: {text}")
    return number
