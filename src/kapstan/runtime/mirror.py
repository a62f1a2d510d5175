"""Mirror: what readers see of a kind, and what handlers have been told about it. The two need not be the same.

Readers see the newest state that is known: what the watch brought, or what this process itself has written and the
watch has not brought yet (so that one reads one's own writes). Handlers are told of each state when the watch brings
it, and never twice. What it keeps true:
- a reader never sees an older state of an object after a newer one, nor an object that this process has deleted, nor
  one whose end was known before the answer to a write of this process came;
- handlers hear a gapless story: the old state of each change is the new state of the one before;
- an object that was deleted and made again is told as both, even where nobody saw the moment between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.deltaqueue import Delta, Replaced
from kapstan.runtime.snapshot import Snapshot, is_newer
from kapstan.runtime.store import Store

__all__ = ("Listener", "Mirror")

# Told of the old state, the new state, and whether the object was there from the start.
Listener: TypeAlias = Callable[[Snapshot | None, Snapshot | None, bool], None]

_MOST_ENDS = 4096  # that are remembered: answers are late by seconds, not by thousands of deletions


class Mirror:
    """A store, kept current by deltas and by this process' own writes."""

    def __init__(self, store: Store, listener: Listener) -> None:
        self.store = store
        self._listener = listener
        self._told: dict[ObjectKey, Snapshot | None] = {}  # what handlers know, where that is not what the store has
        self._deleted: dict[ObjectKey, Snapshot] = {}  # the last states of objects that this process deleted
        self._ends: dict[ObjectKey, str] = {}  # at which version the watch said that an object was gone
        self._listed: dict[str, str] = {}  # by namespace: at which version all objects were told

    # --- What the watch brings --------------------------------------------------------------------------------------

    def handle(self, delta: Delta | Replaced) -> None:
        if isinstance(delta, Replaced):
            self._replaced(delta)
        elif delta.gone:
            self._gone(delta.snapshot)
        else:
            self._present(delta.snapshot, delta.initial)

    def _present(self, new: Snapshot, initial: bool) -> None:
        if new.key in self._deleted and self._is_hidden(new):
            self._tell(self._known(new.key), new, initial)
            self._told[new.key] = new
            return
        current = self.store.get(new.key)
        known = self._known(new.key)
        if current is not None and is_newer(current.resource_version, new.resource_version):
            self._told[new.key] = new
        else:
            if current is None or current.resource_version != new.resource_version:
                self.store.put(new)
            self._told.pop(new.key, None)
        self._tell(known, new, initial)

    def _gone(self, last: Snapshot) -> None:
        self._forget(last.key, last.resource_version, last)

    def _replaced(self, replaced: Replaced) -> None:
        keys = {*self.store.keys(), *self._told, *self._deleted} if self._told or self._deleted else self.store.keys()
        namespace, seen = replaced.namespace, replaced.seen
        missing = [key for key in keys if key not in seen and (not namespace or key.namespace == namespace)]
        for key in missing:
            self._forget(key, replaced.resource_version, None)
        self._listed[namespace] = replaced.resource_version

    def _forget(self, key: ObjectKey, resource_version: str, last: Snapshot | None) -> None:
        """The object was gone at that version. One that this process has made since, and maybe deleted, is another."""
        known = self._known(key)
        current = self.store.get(key)
        newest = current or self._deleted.get(key)
        if newest is not None and is_newer(newest.resource_version, resource_version):
            self._told[key] = None
        else:
            self.store.delete(key)
            self._told.pop(key, None)
            self._deleted.pop(key, None)
            self._remember_end(key, resource_version)
        if known is not None:
            self._tell(last if last is not None and last.uid == known.uid else known, None, False)

    def _remember_end(self, key: ObjectKey, resource_version: str) -> None:
        self._ends.pop(key, None)
        self._ends[key] = resource_version
        if len(self._ends) > _MOST_ENDS:
            del self._ends[next(iter(self._ends))]

    def _is_hidden(self, state: Snapshot) -> bool:
        """Whether a state of an object that we deleted is from before that. If it is being deleted, it is not: it has
        finalizers or a grace period. Neither is a new object of the same name."""
        last = self._deleted[state.key]
        if is_newer(last.resource_version, state.resource_version) or (state.uid == last.uid and not state.deleting):
            return True
        del self._deleted[state.key]
        return False

    # --- What this process does -------------------------------------------------------------------------------------

    def wrote(self, new: Snapshot) -> None:
        """The server answered a write with this state."""
        if self._has_ended(new):
            return
        current = self.store.get(new.key)
        if current is not None and is_newer(current.resource_version, new.resource_version):
            return
        if new.finished():  # the answer has the version from before: what it made was no new one
            self._hide(new)
            return
        if current is not None and current.resource_version == new.resource_version:
            return
        self._told.setdefault(new.key, current)
        self._deleted.pop(new.key, None)
        self.store.put(new)

    def deleted(self, key: ObjectKey, uid: str = "") -> None:
        """The server agreed to delete the object; with another uid it is a new one that has come meanwhile."""
        current = self.store.get(key)
        if current is not None and not current.deleting and uid in ("", current.uid):
            self._hide(current)

    def _has_ended(self, state: Snapshot) -> bool:
        """Whether the watch was faster than the answer, and has already brought the end of the object."""
        if state.key in self.store:
            return False
        ends = (self._ends.get(state.key), self._listed.get(""), self._listed.get(state.namespace))
        version = state.resource_version
        return any(end is not None and (end == version or is_newer(end, version)) for end in ends)

    def _hide(self, last: Snapshot) -> None:
        self._told.setdefault(last.key, self.store.get(last.key))
        self._deleted[last.key] = last
        self.store.delete(last.key)

    # --- Telling ----------------------------------------------------------------------------------------------------

    def told(self) -> list[Snapshot]:
        """Every object as handlers know it: what a new one has to be told first."""
        if not self._told:
            return list(self.store)
        known = (self._known(key) for key in {**dict.fromkeys(self.store.keys()), **self._told})
        return [snapshot for snapshot in known if snapshot is not None]

    def _known(self, key: ObjectKey) -> Snapshot | None:
        """What handlers have been told last."""
        return self._told[key] if key in self._told else self.store.get(key)

    def _tell(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if old is not None and new is not None:
            if old.resource_version == new.resource_version:
                return
            if old.uid != new.uid:
                self._listener(old, None, False)
                old = None
        self._listener(old, new, initial)
