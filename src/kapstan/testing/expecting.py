"""Expectations: what a test wants an object to be like, and how to tell a person that it is not.

A condition is a function that gives something true, or asserts; or the fields that the object should have, as they are
written in a manifest. Fields that are not mentioned may be anything, lists are as long as they should be.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from kapstan.machinery.codec import to_builtins, to_yaml

__all__ = ("Condition", "Seen", "unmet")

T = TypeVar("T")
Condition: TypeAlias = Callable[[T], object] | Mapping[str, Any]


def unmet(condition: Condition[T], obj: T) -> str | None:
    """Why an object is not as it should be; None if it is."""
    if isinstance(condition, Mapping):
        found = _mentioned(to_builtins(obj), condition)
        return None if found == condition else f"wanted (-), found (+):\n{_diff(condition, found)}"
    try:
        return None if condition(obj) else "the condition did not hold"
    except AssertionError as error:
        return str(error) or "the condition did not hold"


class Seen:
    """What was seen of an object while a test waited for it."""

    def __init__(self) -> None:
        self._states: list[Any] = []
        self.reason = "it was not there"

    def note(self, obj: Any, reason: str) -> None:
        """A state of the object, and why it is not the one that is waited for."""
        self.reason = reason
        self._states = [*self._states[:1], obj]

    def deleted(self) -> None:
        self.reason = "it was deleted"
        self._states = []

    def __str__(self) -> str:
        """The last state, and what changed in the meantime."""
        if not self._states:
            return ""
        first, last = self._states[0], self._states[-1]
        changed = _diff(_shown(first), _shown(last))
        since = f"\nWhat changed while it was waited for:\n{changed}" if changed else ""
        return f"\nIt was last seen as:\n{to_yaml(_shown(last))}{since}"


def _mentioned(found: Any, wanted: Any) -> Any:
    """What was found, without the fields that nobody asked about."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return {name: _mentioned(found[name], value) for name, value in wanted.items() if name in found}
    if isinstance(found, list) and isinstance(wanted, list | tuple):
        return [*map(_mentioned, found, wanted), *found[len(wanted) :]]
    return found


def _shown(obj: Any) -> Any:
    """An object without what only the API server reads."""
    document = to_builtins(obj)
    metadata = {name: value for name, value in document.get("metadata", {}).items() if name != "managedFields"}
    return {**document, "metadata": metadata}


def _diff(one: Any, other: Any) -> str:
    lines: Iterator[str] = difflib.unified_diff(to_yaml(one).splitlines(), to_yaml(other).splitlines(), lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
