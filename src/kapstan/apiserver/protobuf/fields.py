"""Fields: how one value on the wire finds its place in a JSON object.

Go's protobuf encoder writes a plain scalar even if it is zero, its JSON encoder may not: each field knows which of its
values JSON leaves out. A message that is sent twice is merged, as protobuf demands.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.protobuf import values
from kapstan.apiserver.protobuf.wire import FIXED64, LENGTH, VARINT, ProtobufError, read_varint, signed32, signed64

if TYPE_CHECKING:
    from kapstan.apiserver.protobuf.decoder import Reader
    from kapstan.apiserver.protobuf.messages import Message

__all__ = ("Field", "Inline", "fields_of")

Object = dict[str, Any]
Element = Callable[["Reader", int, int], Any]
"""Decodes the bytes of one value."""


def _text(reader: Reader, start: int, stop: int) -> str:
    return reader.data[start:stop].decode()


def _base64(reader: Reader, start: int, stop: int) -> str:
    return base64.b64encode(reader.data[start:stop]).decode()


def _raw(reader: Reader, start: int, stop: int) -> bytes:
    return reader.data[start:stop]


def _float(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return values.number(value)


_ELEMENTS: dict[str, tuple[Element, Any]] = {"string": (_text, ""), "bytes": (_base64, None), "raw": (_raw, None)}
_NUMBERS: dict[str, tuple[int, Callable[[int], Any], Any]] = {
    "bool": (VARINT, bool, False),
    "int32": (VARINT, signed32, 0),
    "int64": (VARINT, signed64, 0),
    "float64": (FIXED64, _float, 0),
}


class Field:
    """One field of a message."""

    def __init__(self, tag: int, name: str, *, written_unsent: bool) -> None:
        self.tag, self.name = tag, name
        self.written_unsent = written_unsent

    def zero(self) -> Any:
        """What JSON writes where nothing was sent."""
        return None

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        """Put the value between two positions into the object."""
        raise NotImplementedError

    def take_number(self, number: int, into: Object) -> None:
        """Put a value that the wire holds as a number into the object."""
        raise NotImplementedError


class Single(Field):
    """A string, bytes, or a message whose JSON form is no object."""

    def __init__(self, tag: int, name: str, element: Element, zero: Any, *, pointer: bool, omit: bool) -> None:
        super().__init__(tag, name, written_unsent=not omit)
        self._element, self._zero = element, None if pointer else zero
        self._drops = omit and not pointer

    def zero(self) -> Any:
        return self._zero

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        value = self._element(reader, start, stop)
        if value or not self._drops:
            into[self.name] = value
        else:
            into.pop(self.name, None)


class Number(Field):
    """A number or a boolean."""

    def __init__(
        self, tag: int, name: str, convert: Callable[[int], Any], zero: Any, *, pointer: bool, omit: bool
    ) -> None:
        super().__init__(tag, name, written_unsent=not omit)
        self._convert, self._zero = convert, None if pointer else zero
        self._drops = omit and not pointer

    def zero(self) -> Any:
        return self._zero

    def take_number(self, number: int, into: Object) -> None:
        value = self._convert(number)
        if value or not self._drops:
            into[self.name] = value
        else:
            into.pop(self.name, None)


class Listed(Field):
    """A list of anything but numbers."""

    def __init__(self, tag: int, name: str, element: Element, *, omit: bool) -> None:
        super().__init__(tag, name, written_unsent=not omit)
        self._element = element

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        value = self._element(reader, start, stop)
        found = into.get(self.name)
        if found is None:
            into[self.name] = [value]
        else:
            found.append(value)


class Numbers(Field):
    """A list of numbers, one at a time."""

    def __init__(self, tag: int, name: str, convert: Callable[[int], Any], *, omit: bool) -> None:
        super().__init__(tag, name, written_unsent=not omit)
        self._convert = convert

    def take_number(self, number: int, into: Object) -> None:
        found = into.get(self.name)
        if found is None:
            found = into[self.name] = []
        found.append(self._convert(number))


class PackedNumbers(Numbers):
    """The same list, many at a time: decoders must accept both."""

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        while start < stop:
            number, start = read_varint(reader.data, start)
            self.take_number(number, into)
        if start > stop:
            raise ProtobufError("ends in the middle of a number")


class Mapped(Field):
    """A map with string keys: on the wire a list of entries, each a message with a key and a value."""

    def __init__(self, tag: int, name: str, entry: Message, empty: Callable[[], Any], *, omit: bool) -> None:
        super().__init__(tag, name, written_unsent=not omit)
        self._entry, self._empty = entry, empty

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        entry: Object = {}
        reader.read(self._entry, start, stop, entry)
        found = into.get(self.name)
        if found is None:
            found = into[self.name] = {}
        value = entry.get("value")
        found[entry.get("key", "")] = self._empty() if value is None else value


class Nested(Field):
    """A message that is an object in JSON."""

    def __init__(self, tag: int, name: str, message: Message, *, pointer: bool, omit: bool) -> None:
        # `omitempty` leaves out pointers, never structs.
        super().__init__(tag, name, written_unsent=not (pointer and omit))
        self._message, self._pointer = message, pointer

    def zero(self) -> Any:
        return None if self._pointer else self._message.zero()

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        into[self.name] = reader.message(self._message, start, stop, into.get(self.name))


class Inline(Field):
    """A message whose fields JSON writes among those of the one around it."""

    def __init__(self, tag: int, message: Message) -> None:
        super().__init__(tag, "", written_unsent=False)
        self.message = message

    def take(self, reader: Reader, start: int, stop: int, into: Object) -> None:
        reader.read(self.message, start, stop, into)


def fields_of(number: int, name: str, type: str, find: Callable[[str], Message]) -> Iterator[Field]:
    """The fields that a line of the data describes, such as `3, "ports", "[]k8s.io/api/core/v1.ContainerPort,empty"`.

    `find` gives the message of a Go type. A list of numbers is two fields: the wire has two forms of it.
    """
    type, _, rule = type.partition(",")
    holder = next((prefix for prefix in ("*", "[]", "{}") if type.startswith(prefix)), "")
    type = type.removeprefix(holder)
    pointer, omit = holder == "*", bool(rule)
    tag = number << 3
    if holder == "{}":
        yield _mapped(tag | LENGTH, name, type, omit, find)
    elif type in _NUMBERS:
        wire, convert, zero = _NUMBERS[type]
        if holder == "[]":
            yield Numbers(tag | wire, name, convert, omit=omit)
            yield PackedNumbers(tag | LENGTH, name, convert, omit=omit)
        else:
            yield Number(tag | wire, name, convert, zero, pointer=pointer, omit=omit)
    elif type in _ELEMENTS:
        element, zero = _ELEMENTS[type]
        if holder == "[]":
            yield Listed(tag | LENGTH, name, element, omit=omit)
        else:
            yield Single(tag | LENGTH, name, element, zero, pointer=pointer, omit=omit)
    else:
        yield _of_message(tag | LENGTH, name, find(type), holder, rule)


def _of_message(tag: int, name: str, message: Message, holder: str, rule: str) -> Field:
    def element(reader: Reader, start: int, stop: int) -> Any:
        return reader.message(message, start, stop)

    pointer = holder == "*"
    if holder == "[]":
        return Listed(tag, name, element, omit=bool(rule))
    if not name:
        return Inline(tag, message)
    if message.finish is None:
        return Nested(tag, name, message, pointer=pointer, omit=bool(rule))
    # A struct: only a pointer to it is ever empty, only `omitzero` looks inside.
    omit = bool(rule) if pointer else rule == "zero"
    zero = None if message.finish is values.items else message.zero()
    return Single(tag, name, element, zero, pointer=pointer, omit=omit)


def _mapped(tag: int, name: str, type: str, omit: bool, find: Callable[[str], Message]) -> Field:
    empty: Callable[[], Any]
    if "." in type:
        empty = find(type).zero
    else:
        # Go makes bytes before it decodes them, so they are empty and not null.
        empty = str if type == "bytes" else next(fields_of(2, "value", type, find)).zero
    return Mapped(tag, name, find(f"{{}}{type}"), empty, omit=omit)
