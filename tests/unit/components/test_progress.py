"""A pipe gets plain lines, a terminal a display that moves."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from kapstan.components.progress import ConsoleReporter


def test_a_pipe_gets_a_line_when_a_step_begins_and_ends() -> None:
    output = io.StringIO()
    reporter = ConsoleReporter(Console(file=output))

    reporter.line("A sentence with [brackets].")
    with reporter.step("Building etcd") as step:
        step.update(1, 2, "some/package")

    first, *rest = output.getvalue().splitlines()
    assert first == "A sentence with [brackets]."
    assert rest[0] == "Building etcd ..."
    assert re.fullmatch(r"Building etcd: done in \d+ s", rest[1])
    assert "\x1b" not in output.getvalue()


def test_a_pipe_hears_of_a_long_step_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    output, now = io.StringIO(), iter(range(0, 1000, 25))
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    with ConsoleReporter(Console(file=output, get_time=lambda: 0)).step("Building etcd") as step:
        for done in range(4):
            step.update(done, 10)

    assert output.getvalue().splitlines()[1:-1] == ["Building etcd: 20% ..."]


def test_a_terminal_sees_how_far_a_step_is() -> None:
    output = io.StringIO()
    reporter = ConsoleReporter(Console(file=output, force_terminal=True, width=120))

    with reporter.step("Building etcd") as step:
        step.update(1, 2, "some/[package]")

    assert "50%" in output.getvalue()
    assert "some/[package]" in output.getvalue()


def test_a_step_that_fails_is_not_called_done() -> None:
    output = io.StringIO()
    reporter = ConsoleReporter(Console(file=output))

    with pytest.raises(RuntimeError), reporter.step("Building etcd"):
        raise RuntimeError

    assert output.getvalue() == "Building etcd ...\n"
