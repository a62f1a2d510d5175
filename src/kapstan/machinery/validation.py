"""Field errors: what is wrong with which field of an object, worded exactly as Kubernetes words it.

`str(error)` is the line that `kubectl` prints; `cause()` is the entry of `Status.details.causes` that programs read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from kapstan.machinery.golang import Rendered, format_value, join_quoted, quote, to_json

__all__ = ("OMITTED", "ErrorType", "FieldError", "Path", "aggregate", "causes")


class Path:
    """Where a field is: `Path("spec").child("ports").index(0).child("name")` is `spec.ports[0].name`.

    `Path()` is the object itself, which Kubernetes writes as `<nil>`.
    """

    __slots__ = ("_text",)

    def __init__(self, *names: str) -> None:
        self._text = ".".join(names)

    def child(self, *names: str) -> Path:
        """A field of the object at this path."""
        return Path(self._text, *names) if self._text else Path(*names)

    def index(self, position: int) -> Path:
        """An item of the list at this path."""
        return Path(f"{self._text}[{position}]")

    def key(self, key: str) -> Path:
        """An entry of the map at this path."""
        return Path(f"{self._text}[{key}]")

    def __str__(self) -> str:
        return self._text or "<nil>"

    def __repr__(self) -> str:
        return f"Path({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class ErrorType(StrEnum):
    """The reasons a Status cause may give, with the words that open their messages."""

    words: str

    def __new__(cls, reason: str, words: str) -> ErrorType:
        member = str.__new__(cls, reason)
        member._value_ = reason
        member.words = words
        return member

    DUPLICATE = "FieldValueDuplicate", "Duplicate value"
    FORBIDDEN = "FieldValueForbidden", "Forbidden"
    INTERNAL = "InternalError", "Internal error"
    INVALID = "FieldValueInvalid", "Invalid value"
    NOT_FOUND = "FieldValueNotFound", "Not found"
    NOT_SUPPORTED = "FieldValueNotSupported", "Unsupported value"
    REQUIRED = "FieldValueRequired", "Required value"
    TOO_FEW = "FieldValueTooFew", "Too few"
    TOO_LONG = "FieldValueTooLong", "Too long"
    TOO_MANY = "FieldValueTooMany", "Too many"
    TOO_SHORT = "FieldValueTooShort", "Too short"
    TYPE_INVALID = "FieldValueTypeInvalid", "Invalid value"


class _Omitted:
    """Stands for a value too big to repeat in a message."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED = _Omitted()


class FieldError:
    """One thing wrong with one field. Made by the class methods, which are named for the type."""

    __slots__ = ("detail", "field", "type", "value")

    def __init__(self, type: ErrorType, path: Path | str, value: Any, detail: str) -> None:
        self.type = type
        self.field = str(path)
        self.value = value
        self.detail = detail

    @classmethod
    def invalid(cls, path: Path | str, value: Any, detail: str) -> FieldError:
        """A malformed value: out of bounds, no match for its pattern."""
        return cls(ErrorType.INVALID, path, value, detail)

    @classmethod
    def type_invalid(cls, path: Path | str, value: Any, detail: str) -> FieldError:
        """A value of another type than the schema's."""
        return cls(ErrorType.TYPE_INVALID, path, value, detail)

    @classmethod
    def required(cls, path: Path | str, detail: str = "") -> FieldError:
        """A value that must be there and is not."""
        return cls(ErrorType.REQUIRED, path, OMITTED, detail)

    @classmethod
    def forbidden(cls, path: Path | str, detail: str) -> FieldError:
        """A value that is well-formed but not permitted here."""
        return cls(ErrorType.FORBIDDEN, path, OMITTED, detail)

    @classmethod
    def duplicate(cls, path: Path | str, value: Any) -> FieldError:
        """A value that must be unique and is not."""
        return cls(ErrorType.DUPLICATE, path, value, "")

    @classmethod
    def not_found(cls, path: Path | str, value: Any) -> FieldError:
        """A value that refers to nothing."""
        return cls(ErrorType.NOT_FOUND, path, value, "")

    @classmethod
    def not_supported(cls, path: Path | str, value: Any, supported: Sequence[str]) -> FieldError:
        """A value that is none of the known ones."""
        detail = "supported values: " + join_quoted(supported) if supported else ""
        return cls(ErrorType.NOT_SUPPORTED, path, value, detail)

    @classmethod
    def too_long(cls, path: Path | str, limit: int) -> FieldError:
        """A text of more than `limit` bytes; a negative limit is not told."""
        detail = f"may not be more than {_count(limit, 'byte')}" if limit >= 0 else "value is too long"
        return cls(ErrorType.TOO_LONG, path, OMITTED, detail)

    @classmethod
    def too_many(cls, path: Path | str, actual: int, limit: int) -> FieldError:
        """More than `limit` items; a negative number is not told."""
        detail = f"must have at most {_count(limit, 'item')}" if limit >= 0 else "has too many items"
        return cls(ErrorType.TOO_MANY, path, actual if actual >= 0 else OMITTED, detail)

    @classmethod
    def internal(cls, path: Path | str, detail: str) -> FieldError:
        """A failure that is not the value's fault."""
        return cls(ErrorType.INTERNAL, path, OMITTED, detail)

    @property
    def body(self) -> str:
        """The message without the field's name."""
        text = self.type.words
        if self.value is not OMITTED:
            text = f"{text}: {_render(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> dict[str, str]:
        """The entry of `Status.details.causes`."""
        return {"reason": str(self.type), "message": self.body, "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def __repr__(self) -> str:
        return f"FieldError({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldError) and self.type is other.type and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.type, str(self)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _render(value: Any) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Rendered) else quote(value)
    if isinstance(value, int | float):
        return format_value(value)
    return to_json(value)


def causes(errors: Iterable[FieldError]) -> list[dict[str, str]]:
    """`Status.details.causes` of an Invalid error."""
    return [error.cause() for error in errors]


def aggregate(errors: Iterable[FieldError]) -> str:
    """All messages in one line, each once: `a`, or `[a, b]`."""
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
