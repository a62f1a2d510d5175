"""The strings extension, version 2: positions count characters, not bytes."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.library.formatting import format_text
from kapstan.apiserver.schema.cel.values import EvaluationError, type_of_value

__all__ = ("STRINGS",)

STRINGS = Library()
_add = STRINGS.add
# What Go's strings.TrimSpace takes for space.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _out_of_range(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        chars = list(text)
        return chars if count < 0 or len(chars) <= count else [*chars[: count - 1], "".join(chars[count - 1 :])]
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, len(text) if end is None else end):
        if not 0 <= position <= len(text):
            raise _out_of_range(position)
    return text[start:end]


def _join(items: Any, separator: str = "") -> str:
    parts = list(items)
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(
                f"join: invalid input: {part if type_of_value(part).kind != 'bool' else str(part).lower()}"
            )
    return separator.join(parts)


_add("string_char_at_int", "string.charAt(int) -> string", _char_at)
_add("string_index_of_string", "string.indexOf(string) -> int", _index_of)
_add("string_index_of_string_int", "string.indexOf(string, int) -> int", _index_of)
_add("string_last_index_of_string", "string.lastIndexOf(string) -> int", _last_index_of)
_add("string_last_index_of_string_int", "string.lastIndexOf(string, int) -> int", _last_index_of)
_add("string_lower_ascii", "string.lowerAscii() -> string", lambda text: text.translate(_LOWER))
_add("string_upper_ascii", "string.upperAscii() -> string", lambda text: text.translate(_UPPER))
_add("string_replace_string_string", "string.replace(string, string) -> string", _replace)
_add("string_replace_string_string_int", "string.replace(string, string, int) -> string", _replace)
_add("string_split_string", "string.split(string) -> list(string)", _split)
_add("string_split_string_int", "string.split(string, int) -> list(string)", _split)
_add("string_substring_int", "string.substring(int) -> string", _substring)
_add("string_substring_int_int", "string.substring(int, int) -> string", _substring)
_add("string_trim", "string.trim() -> string", lambda text: text.strip(_SPACE))
_add("string_format", "string.format(list(dyn)) -> string", format_text)
_add("strings_quote", "strings.quote(string) -> string", lambda text: f'"{text.translate(_QUOTES)}"', member=False)
_add("list_join", "list(string).join() -> string", _join)
_add("list_join_string", "list(string).join(string) -> string", _join)
