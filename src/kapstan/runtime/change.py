"""Change: what an informer tells its handlers. One object came, changed or went."""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Kind
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.snapshot import Snapshot

__all__ = ("Change",)


class Change:
    """An object before and after. Either is None: it came or it went. Neither is decoded unless somebody asks."""

    __slots__ = ("initial", "kind", "new", "old")

    def __init__(self, kind: Kind[Any], old: Snapshot | None, new: Snapshot | None, *, initial: bool = False) -> None:
        self.kind, self.old, self.new = kind, old, new
        self.initial = initial  # it was there when the informer started

    @property
    def created(self) -> bool:
        return self.old is None

    @property
    def deleted(self) -> bool:
        return self.new is None

    @property
    def updated(self) -> bool:
        return self.old is not None and self.new is not None

    @property
    def unchanged(self) -> bool:
        """A resync, or the first sight of what was there all along: no news, so no hurry."""
        if self.initial:
            return True
        old, new = self.old, self.new
        return old is not None and new is not None and old.resource_version == new.resource_version

    @property
    def snapshot(self) -> Snapshot:
        """The latest state that is known."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def states(self) -> tuple[Snapshot, ...]:
        """Both states of an update, so that a reference that was dropped is followed too."""
        return tuple(state for state in (self.old, self.new) if state is not None)

    @property
    def key(self) -> ObjectKey:
        return self.snapshot.key

    @property
    def object(self) -> Any:
        """The latest state, decoded."""
        return self.snapshot.decode(self.kind)

    def __repr__(self) -> str:
        verb = "created" if self.created else "deleted" if self.deleted else "updated"
        return f"Change({verb} {self.key})"
