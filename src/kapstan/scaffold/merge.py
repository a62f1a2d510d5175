"""Three-way merge: what the scaffold wants to change, in a file that somebody may have changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TypeAlias

__all__ = ("merge",)

Lines: TypeAlias = list[str]
_Region: TypeAlias = tuple[int, int, int, int, int, int]  # of base, ours and theirs


def merge(base: str, ours: str, theirs: str) -> str | None:
    """`ours` with the changes that lead from `base` to `theirs`; None if both changed the same lines.

    Where both only add lines at the same place, all are kept, theirs first: that is what lists want.
    """
    if base == ours:
        return theirs
    a, b, c = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    merged: Lines = []
    for start, end, ours_start, ours_end, theirs_start, theirs_end in _regions(a, b, c):
        was, mine, wanted = a[start:end], b[ours_start:ours_end], c[theirs_start:theirs_end]
        if mine in (was, wanted):
            merged += wanted
        elif wanted == was:
            merged += mine
        elif not was:
            merged += [*wanted, *mine]
        else:
            return None
    return "".join(merged)


def _regions(a: Lines, b: Lines, c: Lines) -> Iterator[_Region]:
    """The whole text, as regions that all three have in common and regions in which some differ, in turn."""
    at = ours_at = theirs_at = 0
    for start, end, ours, theirs in _common(a, b, c):
        if (at, ours_at, theirs_at) != (start, ours, theirs):
            yield at, start, ours_at, ours, theirs_at, theirs
        length = end - start
        yield start, end, ours, ours + length, theirs, theirs + length
        at, ours_at, theirs_at = end, ours + length, theirs + length
    if (at, ours_at, theirs_at) != (len(a), len(b), len(c)):
        yield at, len(a), ours_at, len(b), theirs_at, len(c)


def _common(a: Lines, b: Lines, c: Lines) -> Iterator[tuple[int, int, int, int]]:
    """Parts of `a` that are in both others: where they begin and end, and where they begin in `b` and in `c`."""
    ours = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    theirs = SequenceMatcher(None, a, c, autojunk=False).get_matching_blocks()
    i = j = 0
    while i < len(ours) and j < len(theirs):
        mine, wanted = ours[i], theirs[j]
        start, end = max(mine.a, wanted.a), min(mine.a + mine.size, wanted.a + wanted.size)
        if start < end:
            yield start, end, mine.b + start - mine.a, wanted.b + start - wanted.a
        if mine.a + mine.size < wanted.a + wanted.size:
            i += 1
        else:
            j += 1
