"""Reinvocation: who has changed a write, and who has to see it again since others changed it afterwards.

If any of those who may change an object did, the whole chain of admission runs a second time. Those that asked for it
are called again then, for what others changed after them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kapstan.apiserver.registry.objects import clone, same

__all__ = ("Reinvocation",)

Object = dict[str, Any]


class Reinvocation:
    """One write's way through those that may change it: webhooks, or policies. Remembered between two rounds."""

    def __init__(self) -> None:
        self.changed = False
        self._again = False
        self._invoked: set[Hashable] = set()  # those that may be called again
        self._due: set[Hashable] = set()
        self._output: Object | None = None

    def begin(self, obj: Object | None) -> None:
        """A round begins, with the object as others left it."""
        before = self._output
        if self._again and before is not None and obj is not None and not same(before, obj):
            self.require()

    def calls(self, key: Hashable) -> bool:
        """Whether somebody is to be called in this round."""
        return not self._again or key in self._due

    def mark_changed(self) -> None:
        """Somebody changed the object."""
        self.changed = True
        self.require()

    def mark_invoked(self, key: Hashable) -> None:
        """Somebody was called who wants to see what others change after that."""
        self._invoked.add(key)

    def require(self) -> None:
        """All who were called so far, and asked for it, have to be called again."""
        self._due |= self._invoked
        self._invoked.clear()

    def finish(self, obj: Object | None) -> None:
        """The round is over; this came of it."""
        self._output = clone(obj) if obj is not None else None
        self._again = True
