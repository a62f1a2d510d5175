"""Character sets of regular expressions: ranges, Unicode categories, case folding, negation."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TypeAlias

__all__ = ("ANY", "ANY_BUT_NEWLINE", "PERL", "POSIX", "CharSet", "Member", "unicode_class")

# One part of a set: an inclusive range of code points, or a test.
Member: TypeAlias = "tuple[int, int] | Callable[[str], bool]"


class CharSet:
    """What one character may be."""

    __slots__ = ("_fold", "_members", "_negated")

    def __init__(self, members: list[Member], *, negated: bool = False, fold: bool = False) -> None:
        self._members = members
        self._negated = negated
        self._fold = fold

    def __contains__(self, char: str) -> bool:
        return self._has(char) is not self._negated

    def _has(self, char: str) -> bool:
        variants = _folded(char) if self._fold else (char,)
        return any(_is_member(variant, member) for variant in variants for member in self._members)


def _is_member(char: str, member: Member) -> bool:
    if isinstance(member, tuple):
        return member[0] <= ord(char) <= member[1]
    return member(char)


# Letters that fold to an ASCII letter without being its other case.
_EXTRA_FOLDS = {"k": "\u212a", "s": "\u017f"}


def _folded(char: str) -> set[str]:
    """The characters that are the same if case does not count."""
    lower = char.lower() if len(char.lower()) == 1 else char
    lower = next((plain for plain, odd in _EXTRA_FOLDS.items() if odd == char), lower)
    upper = lower.upper() if len(lower.upper()) == 1 else lower
    return {char, lower, upper, _EXTRA_FOLDS.get(lower, lower)}


def _chars(text: str) -> list[Member]:
    """Ranges from pairs of characters: `azAZ`."""
    return [(ord(low), ord(high)) for low, high in zip(text[::2], text[1::2], strict=True)]


PERL: dict[str, list[Member]] = {"d": _chars("09"), "s": _chars("\t\n\f\r  "), "w": _chars("09AZ__az")}

POSIX: dict[str, list[Member]] = {
    "alnum": _chars("09AZaz"),
    "alpha": _chars("AZaz"),
    "ascii": _chars("\x00\x7f"),
    "blank": _chars("\t\t  "),
    "cntrl": _chars("\x00\x1f\x7f\x7f"),
    "digit": _chars("09"),
    "graph": _chars("!~"),
    "lower": _chars("az"),
    "print": _chars(" ~"),
    "punct": _chars("!/:@[`{~"),
    "space": _chars("\t\r  "),
    "upper": _chars("AZ"),
    "word": _chars("09AZ__az"),
    "xdigit": _chars("09AFaf"),
}

ANY = CharSet([(0, 0x10FFFF)])
ANY_BUT_NEWLINE = CharSet([(0x0A, 0x0A)], negated=True)

_SUBCATEGORIES = {"C": "cfnos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(major + minor for major, minors in _SUBCATEGORIES.items() for minor in ("", *minors))
# Python knows no scripts; the characters of these are told by their names.
_SCRIPTS = {
    "Arabic": ("ARABIC ",),
    "Armenian": ("ARMENIAN ",),
    "Cyrillic": ("CYRILLIC ",),
    "Devanagari": ("DEVANAGARI ",),
    "Georgian": ("GEORGIAN ",),
    "Greek": ("GREEK ",),
    "Han": ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI RADICAL"),
    "Hangul": ("HANGUL ",),
    "Hebrew": ("HEBREW ",),
    "Hiragana": ("HIRAGANA ",),
    "Katakana": ("KATAKANA ",),
    "Latin": ("LATIN ",),
    "Thai": ("THAI ",),
}


def unicode_class(name: str) -> Member | None:
    """The set that `\\p{name}` means; None if there is no such class."""
    canonical = name.replace("_", "").replace("-", "").replace(" ", "").capitalize()
    if canonical == "Any":
        return (0, 0x10FFFF)
    if canonical == "Ascii":
        return (0, 0x7F)
    if canonical == "Assigned":
        return lambda char: unicodedata.category(char) != "Cn"
    if canonical == "Lc":
        return lambda char: unicodedata.category(char) in ("Lu", "Ll", "Lt")
    if canonical in _CATEGORIES:
        return lambda char: unicodedata.category(char).startswith(canonical)
    if (prefixes := _SCRIPTS.get(canonical)) is not None:
        return lambda char: unicodedata.name(char, "").startswith(prefixes)
    return None
