"""Field selectors: `metadata.name=web,status.phase!=Running`, parsed, matched and written back as Kubernetes does.

Which fields can be selected is the server's decision per kind; a Selector only compares texts. A field that an
object does not have counts as empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ("EVERYTHING", "InvalidSelector", "Requirement", "Selector", "escape_value", "parse")


class InvalidSelector(ValueError):
    """The text is no field selector; the message is Kubernetes'."""


class Requirement(NamedTuple):
    """One comparison of one field."""

    field: str
    value: str
    equal: bool = True  # False is `!=`

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape_value(self.value)}"


class Selector:
    """Requirements that must all hold."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(requirements)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected."""
        return all((fields.get(field, "") == value) is equal for field, value, equal in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    def exact_match(self, field: str) -> str | None:
        """The one value that the field must have, where the selector says so."""
        wanted = (required.value for required in self.requirements if required.equal and required.field == field)
        return next(wanted, None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


EVERYTHING = Selector()

_TERM = re.compile(r"(?:[^\\,]|\\.)*+\\?", re.DOTALL)
_COMPARISON = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_SPECIAL = re.compile(r"\\(.?)|[,=]", re.DOTALL)


def parse(text: str) -> Selector:
    """Parse a `fieldSelector` query parameter; InvalidSelector says what is wrong."""
    requirements = [_requirement(term, text) for term in sorted(_terms(text)) if term]
    return Selector(required for required in requirements if required.field or required.value)


def escape_value(value: str) -> str:
    """A text as it must be written in a selector: backslash, comma and equals sign escaped."""
    return re.sub(r"([\\,=])", r"\\\1", value)


def _terms(text: str) -> list[str]:
    """The text split at commas that no backslash escapes."""
    terms, position = [], 0
    while position <= len(text):
        match = _TERM.match(text, position)
        assert match is not None
        terms.append(match[0])
        position = match.end() + 1
    return terms


def _requirement(term: str, text: str) -> Requirement:
    comparison = _COMPARISON.fullmatch(term)
    if comparison is None:
        raise InvalidSelector(f"invalid selector: '{text}'; can't understand '{term}'")
    field, operator, value = comparison.groups()
    return Requirement(field, _SPECIAL.sub(_unescape, value), operator != "!=")


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped is None:
        raise InvalidSelector(f"invalid field selector: unescaped character in value: {ord(match[0])}")
    if escaped not in ("\\", ",", "="):
        raise InvalidSelector(f"invalid field selector: invalid escape sequence: \\{escaped}")
    return escaped
