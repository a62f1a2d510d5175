"""Source texts of expressions, and the issues that compiling them finds, shown with the line and a mark under it."""

from __future__ import annotations

import bisect
from typing import NamedTuple

__all__ = ("CompileError", "Issue", "Source")

_MAX_SHOWN = 100
_MAX_SNIPPET = 16384


class Issue(NamedTuple):
    """One thing wrong, at an offset in the text."""

    at: int
    message: str


class CompileError(ValueError):
    """The expression does not compile; the message shows every issue as cel-go shows it."""

    def __init__(self, source: Source, issues: list[Issue]) -> None:
        self.issues = issues
        super().__init__(source.render(issues))


class Source:
    """The text of an expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        starts = [0]
        for line in self._lines[:-1]:
            starts.append(starts[-1] + len(line) + 1)
        self._starts = starts

    def position(self, at: int) -> tuple[int, int]:
        """Line, from 1, and column, from 0."""
        line = bisect.bisect_right(self._starts, at) - 1
        return line + 1, at - self._starts[line]

    def render(self, issues: list[Issue]) -> str:
        """All issues, in the order of the text."""
        ordered = sorted(issues, key=lambda issue: issue.at)
        shown = [self._render_one(issue) for issue in ordered[:_MAX_SHOWN]]
        if len(issues) > _MAX_SHOWN:
            shown.append(f"{len(issues) - _MAX_SHOWN} more errors were truncated")
        return "\n".join(shown)

    def _render_one(self, issue: Issue) -> str:
        line, column = self.position(issue.at)
        if not self.text:  # cel-go counts from nothing here
            return f"ERROR: <input>:1:0: {issue.message}"
        result = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
        snippet = self._lines[line - 1].replace("\t", " ")
        if len(snippet.encode()) > _MAX_SNIPPET:
            return result
        dots = "".join("." if char.isascii() else "\uff0e" for char in snippet[:column])
        mark = "^" if column >= len(snippet) or snippet[column].isascii() else "\uff3e"
        return f"{result}\n | {snippet}\n | {dots}{mark}"
