"""Scope: which objects of a kind are cached, and what of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kapstan.client.interface import Selector
from kapstan.machinery import fields as field_selectors
from kapstan.machinery import labels as label_selectors
from kapstan.runtime.indexer import by_field
from kapstan.runtime.lister import field_selector, label_selector
from kapstan.runtime.snapshot import Snapshot

__all__ = ("ALL_NAMESPACES", "RESYNC", "Scope", "Transform")

# Every object is told again about twice a day: not for correctness, but to heal what nobody watches.
RESYNC = 36_000.0

# For a single kind, where everything else is cached in some namespaces only.
ALL_NAMESPACES = ("",)

# Makes an object smaller before it is cached: drops what nobody reads.
Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class Scope(Struct, frozen=True, kw_only=True, dict=True):
    """What an informer holds: by default every object of the kind, without its managedFields."""

    namespaces: tuple[str, ...] = ()  # none: all
    labels: Selector = ""
    fields: Selector = ""
    transform: Transform | None = None
    managed_fields: bool = False
    resync: float = RESYNC  # seconds; 0: never

    def within(self, namespaces: tuple[str, ...]) -> Scope:
        """The same in these namespaces, unless it says in which."""
        chosen = () if self.namespaces == ALL_NAMESPACES else self.namespaces or namespaces
        return self if chosen == self.namespaces else replace(self, namespaces=chosen)

    def contains(self, snapshot: Snapshot) -> bool:
        """Whether an object belongs here, as the server would decide."""
        if self.namespaces and snapshot.namespace and snapshot.namespace not in self.namespaces:
            return False
        return self._labels.matches(snapshot.labels) and self._fields.matches(self._values(snapshot))

    @cached_property
    def _labels(self) -> label_selectors.Selector:
        return label_selector(self.labels)

    @cached_property
    def _fields(self) -> field_selectors.Selector:
        return field_selector(self.fields)

    def _values(self, snapshot: Snapshot) -> dict[str, str]:
        wanted = (required.field for required in self._fields.requirements)
        return {path: next(iter(by_field(path)(snapshot))) for path in wanted}
