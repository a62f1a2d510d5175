"""Tokens of expressions. What is no token is an issue and skipped, as cel-go's lexer does."""

from __future__ import annotations

import re
from typing import NamedTuple

from kapstan.apiserver.schema.cel.source import Issue

__all__ = ("END", "Token", "tokenize")


class Token(NamedTuple):
    """A token: its kind, its text, where it starts."""

    kind: str  # one of the group names below; for symbols and keywords their text
    text: str
    at: int


END = "<EOF>"
_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2})"
_QUOTED = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
)
_RAW = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\''
_TOKEN = re.compile(
    rf"""
      (?P<space>[\t \r\n\f]+|//[^\n]*)
    | (?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<NUM_UINT>(?:0x[0-9A-Fa-f]+|[0-9]+)[uU])
    | (?P<NUM_INT>0x[0-9A-Fa-f]+|[0-9]+)
    | (?P<BYTES>[bB](?:{_QUOTED}|[rR](?:{_RAW})))
    | (?P<STRING>[rR](?:{_RAW})|{_QUOTED})
    | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)
    | (?P<symbol>==|!=|<=|>=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset(("true", "false", "null", "in"))
# What ANTLR has swallowed when it sees that a text is no token.
_BAD_QUOTED = re.compile(rf"(?:[bB]?[rR]?)?(?:\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*)(?:\\.?|[\n\r])?")
_BAD_PAIR = re.compile(r"[=&|][\s\S]?")


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """Tokens, with the end as the last one, and what was skipped."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            bad = _BAD_QUOTED.match(text, at) or _BAD_PAIR.match(text, at)
            skipped = bad[0] if bad else text[at]
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{skipped}'"))
            at += len(skipped)
            continue
        kind = match.lastgroup
        assert kind is not None
        if kind == "symbol" or (kind == "IDENTIFIER" and match[0] in _KEYWORDS):
            kind = match[0]
        if kind != "space":
            tokens.append(Token(kind, match[0], at))
        at = match.end()
    tokens.append(Token(END, END, len(text)))
    return tokens, issues
