"""Progress: what a person sees while programs are downloaded or built.

A terminal gets a live display; a pipe or a log file gets a plain line when a step begins and ends, and one a minute
between. Everything goes to standard error: standard output is for results, such as the path that `kapstan kube which`
prints.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

__all__ = ("ConsoleReporter", "QuietReporter", "Reporter", "Step")


_PLAIN_INTERVAL = 60.0


class Step(Protocol):
    """One piece of work under way."""

    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        """How far it is; without a total only that it moves."""


class Reporter(Protocol):
    """Where progress goes."""

    def line(self, text: str) -> None:
        """One sentence, for good."""

    def step(self, title: str) -> AbstractContextManager[Step]:
        """A piece of work, from here to the end of the block."""


class QuietReporter:
    """Says nothing."""

    def line(self, text: str) -> None:
        return

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        yield _Silent()


class _Silent:
    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        return


class ConsoleReporter:
    """Says it on standard error. Rich is imported on first use: the common case has nothing to say."""

    def __init__(self, console: Console | None = None) -> None:
        self._given = console

    @property
    def _console(self) -> Console:
        if self._given is None:
            from rich.console import Console

            self._given = Console(stderr=True, highlight=False)
        return self._given

    def line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        began = time.monotonic()
        if self._console.is_terminal:
            with self._live() as progress:
                yield _LiveStep(progress, progress.add_task(title, total=None, detail=""))
        else:
            self.line(f"{title} ...")
            yield _PlainStep(self, title)
        self.line(f"{title}: done in {time.monotonic() - began:.0f} s")

    def _live(self) -> Progress:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", style="dim", markup=False),
        )
        return Progress(*columns, console=self._console, transient=True)


class _PlainStep:
    def __init__(self, reporter: Reporter, title: str) -> None:
        self._reporter = reporter
        self._title = title
        self._told = time.monotonic()

    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        if time.monotonic() - self._told >= _PLAIN_INTERVAL:
            self._told = time.monotonic()
            self._reporter.line(f"{self._title}: {done / total:.0%} ..." if total else f"{self._title}: {detail} ...")


class _LiveStep:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        self._progress.update(self._task, completed=done, total=total, detail=detail)
