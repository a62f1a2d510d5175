"""Deadlines: how long a client wants to wait at most, as the URL of its request says."""

from __future__ import annotations

import re

from kapstan.apiserver.http.message import HTTPRequest
from kapstan.apiserver.http.options import text
from kapstan.apiserver.http.routing import Route
from kapstan.apiserver.schema.formats.times import SECOND, parse_go_duration
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote

__all__ = ("requested_seconds",)

_ENDLESS = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_AMOUNT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def requested_seconds(http: HTTPRequest, where: Route) -> float | None:
    """The parameter `timeout`, for requests that end by themselves; None if there is none, or no end is asked for."""
    if "timeout=" not in http.query_string or where.verb == "watch" or where.subresource in _ENDLESS:
        return None
    value = text(http.query, "timeout")
    if not value:
        return None
    duration = parse_go_duration(value)
    if duration is None:
        raise BadRequest(f"invalid timeout specified in the request URL - time: {_problem(value)}")
    return duration / SECOND if duration > 0 else None


def _problem(value: str) -> str:
    """What Go has against a text that should be a duration."""
    rest = value[1:] if value[:1] in ("-", "+") else value
    while rest:
        amount = _AMOUNT.match(rest)
        if amount is None:
            break
        unit = amount.group(1)
        if not unit:
            return f"missing unit in duration {quote(value)}"
        if unit not in _UNITS:
            return f"unknown unit {quote(unit)} in duration {quote(value)}"
        rest = rest[amount.end() :]
    return f"invalid duration {quote(value)}"
