"""The three-way merge: neither side's changes are lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.scaffold.merge import merge


def text(letters: str) -> str:
    return "".join(f"{letter}\n" for letter in letters)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        pytest.param("abc", "abc", "abXc", "abXc", id="only theirs"),
        pytest.param("abc", "aXbc", "abc", "aXbc", id="only ours"),
        pytest.param("abcd", "Xabcd", "abcdY", "XabcdY", id="apart"),
        pytest.param("abcd", "aXcd", "abcY", "aXcY", id="changes apart"),
        pytest.param("abc", "aXbc", "aXbc", "aXbc", id="the same"),
        pytest.param("ab", "aXb", "aYb", "aYXb", id="both add at one place"),
        pytest.param("abc", "ac", "abcY", "acY", id="ours removes"),
        pytest.param("abc", "abcX", "ac", "acX", id="theirs removes"),
        pytest.param("", "x", "y", "yx", id="from nothing"),
        pytest.param("abc", "aXc", "aYc", None, id="conflict"),
        pytest.param("abc", "ac", "aYc", None, id="changed and removed"),
    ],
)
def test_changes_are_merged(base: str, ours: str, theirs: str, merged: str | None) -> None:
    expected = None if merged is None else text(merged)
    assert merge(text(base), text(ours), text(theirs)) == expected


texts = st.text("abcd", max_size=8).map(text)


@given(texts, texts)
def test_one_side_alone_is_taken_as_it_is(base: str, other: str) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other
    assert merge(base, other, other) == other


@given(texts, texts, texts)
def test_lines_come_from_one_of_the_three(base: str, ours: str, theirs: str) -> None:
    merged = merge(base, ours, theirs)
    if merged is not None:
        assert set(merged.splitlines()) <= {*base.splitlines(), *ours.splitlines(), *theirs.splitlines()}
