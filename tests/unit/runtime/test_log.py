"""Log lines, as machines and as people read them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime import log

logger = logging.getLogger("test.log")


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def stream(root: logging.Logger) -> io.StringIO:
    stream = io.StringIO()
    log.configure(stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_zaps_names(stream: io.StringIO) -> None:
    logger.warning("Watching %s", "Pods", extra={"attempt": 2})
    (line,) = lines(stream)
    assert line.pop("ts").endswith("Z")
    assert line == {"level": "warn", "logger": "test.log", "msg": "Watching Pods", "attempt": 2}


def test_fields_are_on_every_line_inside_and_none_outside(stream: io.StringIO) -> None:
    with log.fields(controller="memcached"):
        with log.fields(name="sample"):
            logger.info("in")
        logger.info("out")
    logger.info("over")
    assert [{key: line.get(key) for key in ("controller", "name")} for line in lines(stream)] == [
        {"controller": "memcached", "name": "sample"},
        {"controller": "memcached", "name": None},
        {"controller": None, "name": None},
    ]


async def test_fields_follow_tasks_and_do_not_leak_between_them(stream: io.StringIO) -> None:
    async def work(name: str) -> None:
        with log.fields(name=name):
            await asyncio.sleep(0)
            await asyncio.to_thread(logger.info, "worked on %s", name)

    async with asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(work(name))
    assert all(line["msg"].endswith(line["name"]) for line in lines(stream))
    assert log.current_fields() == {}


def test_errors_have_a_trace_from_their_level_on(root: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure(stream=stream, stacktrace_level=logging.ERROR)
    try:
        raise ValueError("broken")
    except ValueError:
        logger.warning("careful", exc_info=True)
        logger.exception("failed")
    careful, failed = lines(stream)
    assert careful["error"] == failed["error"] == "ValueError: broken"
    assert "stacktrace" not in careful
    assert "Traceback" in failed["stacktrace"]


def test_what_json_cannot_hold_is_written_as_text(stream: io.StringIO) -> None:
    logger.info("odd", extra={"what": object, "key": ObjectKey("ns", "a")})
    (line,) = lines(stream)
    assert line["what"] == "<class 'object'>"


def test_the_level_holds_back_what_is_below(root: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure(stream=stream, level=logging.WARNING)
    logger.info("quiet")
    assert stream.getvalue() == ""


def test_people_get_columns(root: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure(stream=stream, encoder="console", time_encoding="iso8601")
    with log.fields(name="sample"):
        logger.info("Synced")
    time, level, name, message, extra = stream.getvalue().rstrip("\n").split("\t")
    assert "T" in time and time.endswith("+00:00")
    assert (level, name, message, extra) == ("INFO", "test.log", "Synced", '{"name":"sample"}')


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("epoch", 1.5),
        ("millis", 1500.0),
        ("nano", 1_500_000_000),
        ("iso8601", "1970-01-01T00:00:01.500+00:00"),
        ("rfc3339", "1970-01-01T00:00:01Z"),
        ("rfc3339nano", "1970-01-01T00:00:01.500000Z"),
    ],
)
def test_times_are_written_as_asked(encoding: log.TimeEncoding, expected: object) -> None:
    record = logging.makeLogRecord({"created": 1.5, "msg": "x", "levelno": logging.INFO})
    assert json.loads(log.JSONFormatter(time_encoding=encoding).format(record))["ts"] == expected
