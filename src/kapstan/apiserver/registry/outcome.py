"""Outcome: what a verb answers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

__all__ = ("Listed", "Outcome")


class Outcome(msgspec.Struct, frozen=True):
    """One object as JSON, in the version that was asked for."""

    value: bytes
    created: bool = False
    deleted: bool = True  # of a delete: the object is gone, and not only marked
    plain: bool = False  # the value is something else, such as a Status, which no representation changes

    def object(self) -> Any:
        """The object; the caller owns it."""
        return msgspec.json.decode(self.value)


class Listed(msgspec.Struct, frozen=True):
    """Objects as JSON, in the version that was asked for, all as of one revision."""

    values: Sequence[bytes]
    revision: int
    continue_token: str = ""
    remaining: int | None = None
