"""Splitting a stream: into lines, or into JSON documents, whatever pieces it comes in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

__all__ = ("Documents", "Lines", "Splitter")

# A string, which may not have ended yet, or a brace outside of strings.
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}]', re.DOTALL)


class Splitter(Protocol):
    """Cuts what it is fed."""

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        """What is complete now."""

    def rest(self) -> bytes:
        """What was begun when the stream ended."""


class Lines:
    """One line after the other, without their ends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line whose end has not come yet

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        first, *more = chunk.split(b"\n")
        self._parts.append(first)
        if not more:
            return ()
        lines = [b"".join(self._parts), *more[:-1]]
        self._parts = [more[-1]]
        return lines

    def rest(self) -> bytes:
        return b"".join(self._parts)


class Documents:
    """One JSON document after the other. API servers send one a line, and that costs nothing; others indent them, and
    need not end them with a line either: only braces tell where such a document ends."""

    def __init__(self) -> None:
        self._lines: Lines | None = None  # if there is one a line
        self._begun = b""

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        if self._lines is not None:
            return self._lines.feed(chunk)
        self._begun = (self._begun + chunk).lstrip()
        if len(self._begun) < 2:
            return ()
        if self._begun[:1] == b"{" and self._begun[1:2].isspace():
            return self._cut()
        self._lines, begun = Lines(), self._begun
        return self._lines.feed(begun)

    def rest(self) -> bytes:
        return self._lines.rest() if self._lines is not None else self._begun

    def _cut(self) -> Iterable[bytes]:
        documents, depth, start = [], 0, 0
        for mark in _MARK.finditer(self._begun):
            depth += {b"{": 1, b"}": -1}.get(mark.group(), 0)
            if depth == 0 and mark.group() == b"}":
                documents.append(self._begun[start : mark.end()])
                start = mark.end()
        self._begun = self._begun[start:].lstrip()
        return documents
