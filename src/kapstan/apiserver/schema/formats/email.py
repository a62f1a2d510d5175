"""The format `email`: one address as Go's `net/mail` reads it, with or without a display name."""

from __future__ import annotations

import re
from functools import cache

__all__ = ("is_email",)

_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]"
_DOT_ATOM = rf"{_ATEXT}++(?:\.{_ATEXT}++)*+"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*+"'
_DOMAIN_LITERAL = r"\[[^\[\]\\\x00-\x20\x7f]*+\]"
_SPACE = r"[ \t]*+"
_COMMENT = rf"(?:{_SPACE}\((?:[^()\\\x00-\x08\x0a-\x1f\x7f]|\\[\x20-\x7e])*+\))*+{_SPACE}"
_ADDRESS = rf"(?:{_DOT_ATOM}|(?!\"\"){_QUOTED})@{_SPACE}(?:{_DOT_ATOM}|{_DOMAIN_LITERAL})"
_PHRASE = rf"(?:{_SPACE}(?:{_QUOTED}|(?:{_ATEXT}|\.)++))*+"


def is_email(text: str) -> bool:
    """Whether the text is one address."""
    plain, named = _patterns()
    return (plain.fullmatch(text) or named.fullmatch(text)) is not None


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiled when the first address is seen: with all of Unicode in it that takes longer than to load a module."""
    plain = re.compile(rf"{_COMMENT}{_ADDRESS}{_COMMENT}")
    return plain, re.compile(rf"{_COMMENT}{_PHRASE}{_COMMENT}<{_SPACE}{_ADDRESS}{_SPACE}>{_COMMENT}")
