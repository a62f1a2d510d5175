"""Request bodies in protobuf, as client-go sends them for built-in kinds, decoded into what their JSON would be.

A body is the magic `k8s\\0` and an envelope that names the kind and carries the object. Where Go's decoder reads a body
so do we, and to the same JSON, but for text that is not UTF-8 and times outside the years 1 to 9999: JSON cannot hold
the one, and no JSON client could have sent the other. What a hostile body can cost is bounded: how deep it nests, and
to how many objects it unfolds.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.protobuf.messages import Message, kind_message, message
from kapstan.apiserver.protobuf.values import ENVELOPE
from kapstan.apiserver.protobuf.wire import LENGTH, VARINT, ProtobufError, read_varint, skip

__all__ = ("MAGIC", "Reader", "UnknownKind", "decode", "is_protobuf")

MAGIC = b"k8s\x00"
MAX_DEPTH = 120
"""Objects within objects. Only the schemas of a CustomResourceDefinition nest without a limit of their own; a level of
theirs takes up to five calls, of the thousand that Python allows."""
MAX_OBJECTS = 200_000
"""An object may take two bytes in a body of 3 MiB, and a kilobyte in memory."""

_MAX_NUMBER = (1 << 29) - 1
_TRUNCATED = "ends before its length says"


class UnknownKind(ProtobufError):
    """The body names a kind that has no protobuf form here."""


def is_protobuf(body: bytes) -> bool:
    """Whether the body starts as one in protobuf does."""
    return body.startswith(MAGIC)


def decode(body: bytes, api_version: str = "", kind: str = "") -> dict[str, Any]:
    """The object in a body, exactly as its JSON would be. ProtobufError if it cannot be read.

    `api_version` and `kind` stand in where the body does not name them.
    """
    if not is_protobuf(body):
        raise ProtobufError("the body does not start as a protobuf one of Kubernetes does")
    envelope = Reader(body).message(message(ENVELOPE), len(MAGIC), len(body))
    api_version = envelope.get("apiVersion") or api_version
    kind = envelope.get("kind") or kind
    if not api_version or not kind:
        raise UnknownKind("the body does not name its apiVersion and kind")
    found = kind_message(api_version, kind)
    if found is None:
        raise UnknownKind(f"kind {kind} of {api_version} cannot be sent as protobuf: send JSON")
    raw = envelope.get("raw", b"")
    return {"kind": kind, "apiVersion": api_version, **Reader(raw).message(found, 0, len(raw))}


class Reader:
    """Reads messages out of one piece of data."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._depth = 0
        self._objects = 0

    def message(self, message: Message, start: int, stop: int, into: dict[str, Any] | None = None) -> Any:
        """The JSON value of the message between two positions, merged into what an earlier part of it gave."""
        if message.finish is not None and start == stop:
            return message.finish({})
        self._objects += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ProtobufError(f"objects are nested more than {MAX_DEPTH} deep")
        if self._objects > MAX_OBJECTS:
            raise ProtobufError(f"the body holds more than {MAX_OBJECTS} objects")
        found: dict[str, Any] = {} if into is None else into
        self.read(message, start, stop, found)
        self._depth -= 1
        for field in message.unsent:
            if field.name not in found:
                found[field.name] = field.zero()
        return found if message.finish is None else message.finish(found)

    def read(self, message: Message, pos: int, end: int, into: dict[str, Any]) -> None:
        """Read the fields between two positions into an object."""
        data, fields = self.data, message.fields
        name = ""
        try:
            while pos < end:
                name = ""
                # Nearly all tags and lengths have one byte: reading those here saves an eighth of the time.
                tag, pos = (data[pos], pos + 1) if data[pos] < 0x80 else read_varint(data, pos)
                field = fields.get(tag)
                if field is None:
                    pos = self._unknown(message, tag, pos)
                    continue
                name, wire = field.name, tag & 7
                if wire == LENGTH:
                    length, start = (data[pos], pos + 1) if data[pos] < 0x80 else read_varint(data, pos)
                    pos = start + length
                    if pos > end:
                        raise ProtobufError(_TRUNCATED)
                    field.take(self, start, pos, into)
                elif wire == VARINT:
                    number, pos = read_varint(data, pos)
                    field.take_number(number, into)
                else:
                    field.take_number(int.from_bytes(data[pos : pos + 8], "little"), into)
                    pos += 8
            if pos > end:
                raise ProtobufError(_TRUNCATED)
        except ProtobufError as error:
            if name:
                error.path.insert(0, name)
            raise
        except (IndexError, UnicodeDecodeError) as error:
            raise _readable(error, name) from None

    def _unknown(self, message: Message, tag: int, pos: int) -> int:
        """Step over a field that the table does not have: newer clients may know more than we do."""
        number = tag >> 3
        if not 0 < number <= _MAX_NUMBER:
            raise ProtobufError(f"{message.name} has a field with the illegal number {number}")
        if number in message.names:
            name = message.names[number] or message.name
            raise ProtobufError(f"field {name} of {message.name} has the wrong wire type {tag & 7}")
        return skip(self.data, pos, tag)


def _readable(error: IndexError | UnicodeDecodeError, name: str) -> ProtobufError:
    found = ProtobufError(_TRUNCATED if isinstance(error, IndexError) else "is not valid UTF-8")
    if name:
        found.path.append(name)
    return found
