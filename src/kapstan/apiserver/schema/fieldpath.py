"""Field paths in schemas: `.spec.ports`, `.metadata.labels['a.b']`, as rules and selectable fields name fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import Path

__all__ = ("InvalidFieldPath", "resolve_field_path")

_TOKEN = re.compile(r"'[^']*(?:(?<=\\)'[^']*)*'|[.\[\]]|[^.\[\]]+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class InvalidFieldPath(ValueError):
    """The path does not lead to a field of the schema; the message is Kubernetes'."""


def resolve_field_path(text: str, schema: Schema, *, allow_brackets: bool = True) -> tuple[Path, Schema]:
    """The path as error messages write it, and the schema that it leads to."""
    path = Path()
    tokens = iter(_TOKEN.findall(text))
    for symbol in tokens:
        if symbol == "[":
            if not allow_brackets:
                raise InvalidFieldPath("array notation is not allowed")
            name = _quoted(_next(tokens))
        elif symbol == ".":
            name = _next(tokens)
        else:
            raise InvalidFieldPath(f"expected [ or . but got: {symbol}")
        path, schema = _step(path, schema, name)
        if symbol == "[" and (closing := _next(tokens)) != "]":
            raise InvalidFieldPath(f"expected ] but got {closing}")
    return path, schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise InvalidFieldPath("unexpected end of JSON path")
    return token


def _step(path: Path, schema: Schema, name: str) -> tuple[Path, Schema]:
    if schema.properties:
        if name not in schema.properties:
            raise InvalidFieldPath("does not refer to a valid field")
        return path.child(name), schema.properties[name]
    if isinstance(schema.additional, Schema):
        return path.key(name), schema.additional
    raise InvalidFieldPath("does not refer to a valid field")


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise InvalidFieldPath(f"expected single quoted string but got {token}")
    return re.sub(r"\\(.)", _unescape, token[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match[1] not in _ESCAPES:
        raise InvalidFieldPath(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPES[match[1]]
