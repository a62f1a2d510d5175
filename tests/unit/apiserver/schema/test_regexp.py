"""Regular expressions: linear time, bounded memory. What they mean is in the vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.schema.regexp import InvalidRegexp, Regexp, compile_regexp


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)x$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_hostile_patterns_take_no_longer_than_the_text(pattern: str) -> None:
    """A matcher that backtracks would not finish within a lifetime."""
    assert not Regexp(pattern).matches("a" * 50_000 + "!")


def test_many_different_texts_do_not_fill_the_memory() -> None:
    regexp = Regexp("[ab]*a[ab]{12}$")
    texts = ["".join("ab"[number >> bit & 1] for bit in range(13)) for number in range(2**13)]
    assert sum(map(regexp.matches, texts)) == 2**12
    assert len(regexp._states) <= 2000
    assert regexp.matches("a" + "b" * 12) and not regexp.matches("b" * 13)


def test_equal_patterns_share_their_automaton() -> None:
    assert compile_regexp("^x+$") is compile_regexp("^x+$")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidRegexp, match="nests too deeply"):
        compile_regexp("(" * 2000 + ")" * 2000)


@given(st.text("ab", max_size=8))
def test_find_all_covers_what_matches(text: str) -> None:
    regexp = compile_regexp("a+|b")
    assert "".join(regexp.find_all(text)) == text
    assert regexp.find_all(text, 1) == regexp.find_all(text)[:1]
    assert regexp.matches(text) == bool(text)
