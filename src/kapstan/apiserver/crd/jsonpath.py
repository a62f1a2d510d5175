"""JSONPath as printer columns, selectable fields and scale subresources use it: client-go's dialect, compiled once.

Fields, quoted fields, indexes, slices, wildcards, unions, recursive descent and filters such as
`.status.conditions[?(@.type=="Ready")].status`. What does not parse raises ValueError.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kapstan.machinery.codec import encode

__all__ = ("JSONPath", "compile_path", "field_path", "printed")

Step = Callable[[Any], Iterator[Any]]

_FIELD = re.compile(r"(?:\\.|[^\s.\[\](){}@$,=!<>'\"\\])+")
_SLICE = re.compile(r"(-?\d+)?(:)?(-?\d+)?(?::(-?\d+))?")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_COMPARISON = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPath:
    """A compiled path."""

    def __init__(self, text: str, steps: list[Step]) -> None:
        self.text = text
        self._steps = steps

    def find(self, value: Any) -> list[Any]:
        """Everything that the path leads to; nothing where a part of it is missing."""
        found = [value]
        for step in self._steps:
            found = [result for item in found for result in step(item)]
        return found

    def first(self, value: Any) -> Any:
        """The first value that the path leads to; None if there is none."""
        found = self.find(value)
        return found[0] if found else None


@lru_cache(maxsize=4096)
def compile_path(text: str) -> JSONPath:
    """Compile a path that begins with a dot."""
    return JSONPath(text, _Parser(text).steps())


def field_path(text: str) -> tuple[str, ...]:
    """The fields of a plain path such as `.spec.replicas`."""
    return tuple(part for part in text.lstrip(".").split(".") if part)


def printed(value: Any) -> str:
    """A value as text: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else encode(value).decode()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def steps(self, stop: str = "") -> list[Step]:
        steps: list[Step] = []
        while self._at < len(self._text) and not (stop and self._text[self._at] in stop):
            if self._text.startswith("..", self._at):
                self._at += 2
                steps.append(_descend(self._name()))
            elif self._text[self._at] == ".":
                self._at += 1
                if self._at < len(self._text) and self._text[self._at] not in "[" + stop:
                    steps.append(_wildcard if self._take("*") else _field(self._name()))
            elif self._take("["):
                steps.append(self._bracket())
            else:
                raise self._error("expected a dot or a bracket")
        return steps

    def _name(self) -> str:
        match = _FIELD.match(self._text, self._at)
        if match is None:
            raise self._error("expected a field")
        self._at = match.end()
        return re.sub(r"\\(.)", r"\1", match[0])

    def _bracket(self) -> Step:
        if self._take("?("):
            step = self._filter()
            self._expect(")")
        else:
            parts = [self._selector()]
            while self._take(","):
                parts.append(self._selector())
            step = parts[0] if len(parts) == 1 else _union(parts)
        self._expect("]")
        return step

    def _selector(self) -> Step:
        if self._take("*"):
            return _wildcard
        quoted = _QUOTED.match(self._text, self._at)
        if quoted is not None:
            self._at = quoted.end()
            return _field(_unquoted(quoted))
        match = _SLICE.match(self._text, self._at)
        if match is None or not match[0]:
            raise self._error("expected an index, a name or *")
        self._at = match.end()
        start, colon, end, stride = match.groups()
        if not colon:
            return _index(int(start))
        return _slice(_int(start), _int(end), _int(stride))

    def _filter(self) -> Step:
        left = self._operand()
        match = _COMPARISON.match(self._text, self._at)
        if match is None:
            return _filtered(lambda item: bool(left(item)))
        self._at = match.end()
        right, compare = self._operand(), _COMPARE[match[1]]
        return _filtered(lambda item: _compares(compare, left(item), right(item)))

    def _operand(self) -> Callable[[Any], list[Any]]:
        """Something to compare: a path from the item, or a literal."""
        self._skip_space()
        if self._take("@"):
            path = JSONPath("", self.steps(stop=" \t=!<>)"))
            return path.find
        quoted = _QUOTED.match(self._text, self._at)
        if quoted is not None:
            self._at = quoted.end()
            text = _unquoted(quoted)
            return lambda _: [text]
        match = re.compile(r"[^\s=!<>)\]]+").match(self._text, self._at)
        if match is None:
            raise self._error("expected something to compare")
        self._at = match.end()
        literal = _literal(match[0])
        return lambda _: [literal]

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _take(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False

    def _expect(self, token: str) -> None:
        self._skip_space()
        if not self._take(token):
            raise self._error(f"expected {token!r}")

    def _error(self, why: str) -> ValueError:
        return ValueError(f"{self._text!r} is not a JSON path: {why} at position {self._at}")


def _int(text: str | None) -> int | None:
    return int(text) if text is not None else None


def _unquoted(match: re.Match[str]) -> str:
    text = match[1] if match[1] is not None else match[2]
    return re.sub(r"\\(.)", r"\1", text)


def _literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number, a truth value nor a quoted text") from None


def _compares(compare: Callable[[Any, Any], Any], left: list[Any], right: list[Any]) -> bool:
    if not left or not right:
        return False
    try:
        return bool(compare(left[0], right[0]))
    except TypeError:
        return False


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(position: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= position < len(value):
            yield value[position]

    return step


def _slice(start: int | None, end: int | None, stride: int | None) -> Step:
    wanted = slice(start, end, stride or None)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[wanted]

    return step


def _wildcard(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _union(parts: list[Step]) -> Step:
    return lambda value: (found for part in parts for found in part(value))


def _filtered(accepts: Callable[[Any], bool]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from filter(accepts, value)

    return step


def _descend(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        pending = [value]
        while pending:
            item = pending.pop(0)
            if isinstance(item, dict):
                if name in item:
                    yield item[name]
                pending.extend(item.values())
            elif isinstance(item, list):
                pending.extend(item)

    return step
