"""MemoryStorage: the working state of a logical cluster, and a whole storage where nothing need survive.

The state changes in one place, `_commit`, which runs on the event loop without suspending: readers see all of a write
or nothing of it. A durable storage is this one with a detour between accepting a write and committing it.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence

from kapstan.apiserver.storage.history import History, HistoryLimits
from kapstan.apiserver.storage.interface import (
    Event,
    Observer,
    Record,
    RevisionTooNew,
    RevisionTooOld,
    StorageError,
    WriteConflict,
)
from kapstan.machinery.gvk import GroupResource

__all__ = ("MemoryStorage", "Snapshot", "Table")

logger = logging.getLogger(__name__)


class Table:
    """One collection: records by key, and the keys in order."""

    __slots__ = ("keys", "records")

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.records: dict[str, Record] = {}

    def set(self, record: Record) -> None:
        if record.key not in self.records:
            insort(self.keys, record.key)
        self.records[record.key] = record

    def remove(self, key: str) -> None:
        if self.records.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def keys_between(self, prefix: str, start: str) -> list[str]:
        keys = self.keys
        low = bisect_left(keys, max(prefix, start))
        high = bisect_left(keys, _after(prefix), lo=low) if prefix else len(keys)
        return keys[low:high]

    def copy(self) -> Table:
        copy = Table()
        copy.keys, copy.records = self.keys.copy(), self.records.copy()
        return copy


def _after(prefix: str) -> str:
    """The smallest text that is greater than everything that begins with `prefix`."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class Snapshot:
    """The state of a storage that others start from: records are shared, not copied."""

    def __init__(self, revision: int, tables: dict[GroupResource, Table], owners: dict[str, set[Record]]) -> None:
        self.revision = revision
        self.tables = tables
        self.owners = owners


class MemoryStorage:
    """The objects of one logical cluster, in memory."""

    def __init__(
        self,
        base: Snapshot | None = None,
        *,
        limits: HistoryLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._revision = base.revision if base else 0
        self._tables = {kind: table.copy() for kind, table in base.tables.items()} if base else {}
        self._owners = {uid: set(records) for uid, records in base.owners.items()} if base else {}
        self._history = History(self._revision, limits or HistoryLimits(), clock)
        self._observers: dict[GroupResource | None, dict[object, Observer]] = {}
        self._settings: dict[str, bytes] = {}
        self._clock = clock
        self.problem = ""  # why nothing can be written; "" if it can

    # Reading ----------------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def oldest_revision(self) -> int:
        return self._history.floor

    def get(self, kind: GroupResource, key: str) -> Record | None:
        table = self._tables.get(kind)
        return table.records.get(key) if table else None

    def latest(self, kind: GroupResource, key: str) -> Record | None:
        return self.get(kind, key)

    def list(
        self, kind: GroupResource, prefix: str = "", *, start: str = "", revision: int | None = None
    ) -> Sequence[Record]:
        past = self._state_at(kind, revision) if revision is not None and revision != self._revision else {}
        table = self._tables.get(kind) or Table()
        if not past:
            return [table.records[key] for key in table.keys_between(prefix, start)]
        first = max(prefix, start)
        returned = [key for key in past if key not in table.records and key >= first and key.startswith(prefix)]
        keys = table.keys_between(prefix, start)
        if returned:
            keys = sorted(keys + returned)
        found = (past[key] if key in past else table.records[key] for key in keys)
        return [record for record in found if record is not None]

    def count(self, kind: GroupResource) -> int:
        table = self._tables.get(kind)
        return len(table.keys) if table else 0

    def kinds(self) -> Iterator[GroupResource]:
        return (kind for kind, table in tuple(self._tables.items()) if table.keys)

    def dependents(self, uid: str) -> Sequence[Record]:
        return tuple(self._owners.get(uid, ()))

    def setting(self, name: str) -> bytes | None:
        return self._settings.get(name)

    # Writing ----------------------------------------------------------------------------------------------------------

    async def put(
        self, kind: GroupResource, key: str, expected: Record | None, build: Callable[[int], Record]
    ) -> Record:
        self._check(kind, key, expected)
        record = build(self._next_revision())
        await self._write(Event("MODIFIED" if expected else "ADDED", record, expected, self._clock()))
        return record

    async def delete(self, kind: GroupResource, key: str, expected: Record, build: Callable[[int], Record]) -> Record:
        self._check(kind, key, expected)
        record = build(self._next_revision())
        await self._write(Event("DELETED", record, expected, self._clock()))
        return record

    async def settle(self, record: Record) -> None:
        """In memory every record is committed."""

    async def set_setting(self, name: str, value: bytes) -> None:
        self._settings[name] = value

    def _check(self, kind: GroupResource, key: str, expected: Record | None) -> None:
        if self.latest(kind, key) is not expected:
            raise WriteConflict(f"{kind} {key} has changed")

    def _next_revision(self) -> int:
        return self._revision + 1

    async def begin_with(self, base: Snapshot) -> None:
        """Take over the records of another storage, all together. Only for a storage that has had none."""
        records = [record for table in base.tables.values() for record in table.records.values()]
        for record in sorted(records, key=lambda record: record.revision):
            self._submit(Event("ADDED", record, None, self._clock()))
        for record in records:
            await self.settle(record)
        if self._revision < base.revision:  # some were refused before we came to wait for them
            raise StorageError(f"the write could not be stored: {self.problem}")

    async def _write(self, event: Event) -> None:
        self._submit(event)
        await self.settle(event.record)

    def _submit(self, event: Event) -> None:
        """Accept a write; it is committed as soon as it is durable."""
        self._commit(event)

    def _commit(self, event: Event) -> None:
        """Make a write visible, and tell everyone."""
        self._apply(event)
        self._history.append(event)
        if self._history.overfull:
            self._forget(self._history.trim())
        for observers in (self._observers.get(event.record.kind), self._observers.get(None)):
            if observers:
                _tell(tuple(observers.values()), event)

    def _apply(self, event: Event) -> None:
        record = event.record
        self._revision = record.revision
        table = self._tables.get(record.kind)
        if table is None:
            table = self._tables[record.kind] = Table()
        if event.type == "DELETED":
            table.remove(record.key)
        else:
            table.set(record)
        if event.previous is not None and event.previous.owner_uids:
            self._disown(event.previous)
        if record.owner_uids and event.type != "DELETED":
            for uid in record.owner_uids:
                self._owners.setdefault(uid, set()).add(record)

    def _disown(self, record: Record) -> None:
        for uid in record.owner_uids:
            dependents = self._owners.get(uid)
            if dependents is not None:
                dependents.discard(record)
                if not dependents:
                    del self._owners[uid]

    # Watching ---------------------------------------------------------------------------------------------------------

    def observe(self, observer: Observer, kind: GroupResource | None = None) -> Callable[[], None]:
        token = object()
        observers = self._observers.setdefault(kind, {})
        observers[token] = observer

        def stop() -> None:
            observers.pop(token, None)

        return stop

    def events_since(self, revision: int, kind: GroupResource | None = None) -> Sequence[Event]:
        if revision < self._history.floor:
            raise RevisionTooOld(revision, self._history.floor)
        if revision > self._revision:
            raise RevisionTooNew(revision, self._revision)
        events = self._history.since(revision)
        return events if kind is None else [event for event in events if event.record.kind == kind]

    def _state_at(self, kind: GroupResource, revision: int) -> dict[str, Record | None]:
        """What was different then: the record of each key that has been written since, None if it did not exist."""
        past: dict[str, Record | None] = {}
        for event in self.events_since(revision, kind):
            past.setdefault(event.record.key, event.previous)
        return past

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Forget events beyond the limits. To be called now and then: an idle storage trims nothing by itself."""
        self._forget(self._history.trim())

    def _forget(self, events: Sequence[Event]) -> None:
        """These events are not known any more; a durable storage removes them from the disk."""

    def snapshot(self) -> Snapshot:
        """The present state, for others to start from."""
        return Snapshot(
            self._revision,
            {kind: table.copy() for kind, table in self._tables.items()},
            {uid: set(records) for uid, records in self._owners.items()},
        )

    async def close(self) -> None:
        """Nothing is held open."""


def _tell(observers: Sequence[Observer], event: Event) -> None:
    """One that fails must not keep the others from hearing: the write has happened."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            logger.exception("an observer of %s failed", event)
