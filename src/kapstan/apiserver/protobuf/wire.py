"""The wire format: variable-length integers, and stepping over what a table does not know."""

from __future__ import annotations

__all__ = ("FIXED32", "FIXED64", "LENGTH", "VARINT", "ProtobufError", "read_varint", "signed32", "signed64", "skip")

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)

_MAX_GROUPS = 100


class ProtobufError(ValueError):
    """A body that cannot be decoded. `path` leads to the field, outermost first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.problem}" if self.path else self.problem


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """The number at `pos` and the position behind it; IndexError where the data ends within it."""
    byte = data[pos]
    if byte < 0x80:
        return byte, pos + 1
    value, shift = byte & 0x7F, 7
    while True:
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, pos + 1
        shift += 7
        if shift >= 70:
            raise ProtobufError("a number has more than ten bytes")


def signed32(value: int) -> int:
    value &= 0xFFFF_FFFF
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def signed64(value: int) -> int:
    return value - 0x1_0000_0000_0000_0000 if value & 0x8000_0000_0000_0000 else value


def skip(data: bytes, pos: int, tag: int) -> int:
    """The position behind a field whose tag was read. The caller checks that it is still within the message."""
    depth = 0
    while True:
        wire = tag & 7
        if wire == VARINT:
            _, pos = read_varint(data, pos)
        elif wire == LENGTH:
            length, pos = read_varint(data, pos)
            pos += length
        elif wire == FIXED64:
            pos += 8
        elif wire == FIXED32:
            pos += 4
        elif wire == START_GROUP:
            depth += 1
            if depth > _MAX_GROUPS:
                raise ProtobufError(f"groups are nested more than {_MAX_GROUPS} deep")
        elif wire == END_GROUP and depth:
            depth -= 1
        else:
            raise ProtobufError(f"wire type {wire} does not exist here")
        if not depth:
            return pos
        tag, pos = read_varint(data, pos)
