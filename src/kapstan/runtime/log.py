"""Logs: standard `logging`, with the fields of the reconcile in progress on every line, as JSON or for people.

Fields live in a context variable, so whatever a reconciler calls, in tasks or threads, logs them too:

    with log.fields(controller="memcached", name="sample"):
        logger.info("Synced")          # {"level": "info", ..., "controller": "memcached", "name": "sample"}

Names and forms are zap's, which kubebuilder's flags choose between.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, TypeAlias

import msgspec

__all__ = ("ConsoleFormatter", "Encoder", "JSONFormatter", "TimeEncoding", "configure", "current_fields", "fields")

Encoder: TypeAlias = Literal["json", "console"]
TimeEncoding: TypeAlias = Literal["epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano"]

_FIELDS: ContextVar[Mapping[str, Any]] = ContextVar("kapstan_log_fields", default={})  # noqa: B039 - never changed in place
# What every LogRecord has; anything else was given as `extra=`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LEVELS = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warn",
    logging.ERROR: "error",
    logging.CRITICAL: "fatal",
}


@contextmanager
def fields(**values: Any) -> Iterator[None]:
    """Have these fields on every line that is logged inside."""
    token = _FIELDS.set({**_FIELDS.get(), **values})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def current_fields() -> Mapping[str, Any]:
    """The fields that lines logged here have."""
    return _FIELDS.get()


def configure(
    *,
    encoder: Encoder = "json",
    level: int = logging.INFO,
    stacktrace_level: int = logging.ERROR,
    time_encoding: TimeEncoding = "rfc3339",
    stream: TextIO | None = None,
) -> None:
    """Send every log line to `stream` (stderr) in this form, in place of whatever handlers there were."""
    handler = logging.StreamHandler(stream or sys.stderr)
    form = JSONFormatter if encoder == "json" else ConsoleFormatter
    handler.setFormatter(form(stacktrace_level=stacktrace_level, time_encoding=time_encoding))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


class _Formatter(logging.Formatter):
    def __init__(self, *, stacktrace_level: int = logging.ERROR, time_encoding: TimeEncoding = "rfc3339") -> None:
        super().__init__()
        self._stacktrace_level = stacktrace_level
        self._time_encoding: TimeEncoding = time_encoding

    def _extra(self, record: logging.LogRecord) -> dict[str, Any]:
        given = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        return {**_FIELDS.get(), **given}

    def _error(self, record: logging.LogRecord) -> tuple[str, str]:
        """The error that is logged, in one line, and its trace if it is to be shown."""
        if not record.exc_info or record.exc_info[1] is None:
            return "", ""
        error = record.exc_info[1]
        trace = "".join(traceback.format_exception(error)) if record.levelno >= self._stacktrace_level else ""
        return "".join(traceback.format_exception_only(error)).strip(), trace

    def _time(self, record: logging.LogRecord) -> str | float | int:
        match self._time_encoding:
            case "epoch":
                return record.created
            case "millis":
                return record.created * 1e3
            case "nano":
                return int(record.created * 1e9)
            case "iso8601":
                return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
            case "rfc3339":
                return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            case "rfc3339nano":
                return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class JSONFormatter(_Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        error, trace = self._error(record)
        line: dict[str, Any] = {
            "level": _level(record),
            "ts": self._time(record),
            "logger": record.name,
            "msg": record.getMessage(),
            **self._extra(record),
        }
        if error:
            line["error"] = error
        if trace:
            line["stacktrace"] = trace
        return msgspec.json.encode(line, enc_hook=str).decode()


class ConsoleFormatter(_Formatter):
    """For people: time, level, who, what, and the fields behind it."""

    def format(self, record: logging.LogRecord) -> str:
        error, trace = self._error(record)
        extra = self._extra(record)
        if error:
            extra["error"] = error
        line = f"{self._time(record)}\t{_level(record).upper()}\t{record.name}\t{record.getMessage()}"
        if extra:
            line += "\t" + msgspec.json.encode(extra, enc_hook=str).decode()
        return f"{line}\n{trace}".rstrip("\n")


def _level(record: logging.LogRecord) -> str:
    return _LEVELS.get(record.levelno, record.levelname.lower())
