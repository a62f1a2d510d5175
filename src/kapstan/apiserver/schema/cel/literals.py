"""Literals: the values of quoted strings, bytes and numbers."""

from __future__ import annotations

import re

__all__ = ("unquote", "unquote_bytes")

_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(r"\\([xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)", re.DOTALL)


def unquote(text: str) -> str:
    """The string that a token stands for; ValueError with cel-go's words."""
    body, raw = _body(text)
    return body if raw else _ESCAPE.sub(lambda match: _char(match[1]), body)


def unquote_bytes(text: str) -> bytes:
    """The bytes that a token stands for: numbers in escapes are bytes, other characters are UTF-8."""
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts += (body[end : match.start()].encode(), _byte(match[1]))
        end = match.end()
    return b"".join([*parts, body[end:].encode()])


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[quotes:-quotes], raw


def _char(escape: str) -> str:
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    code = int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _byte(escape: str) -> bytes:
    if escape in _ESCAPES:
        return _ESCAPES[escape].encode()
    if escape[0] in "uU":
        raise ValueError("unable to unescape string")
    return bytes([int(escape[1:], 16) if escape[0] in "xX" else int(escape, 8)])
