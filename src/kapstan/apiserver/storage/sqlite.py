"""SQLite behind the working state: what was acknowledged survives the process.

One file holds any number of logical clusters. It is an append-only log of writes; the state is what replaying it gives,
and compaction removes rows that later ones have replaced. A write becomes visible and is acknowledged when its
transaction has been committed, in the order of revisions.

What survives what: after `kill -9` of the process nothing acknowledged is missing, whatever the setting. After a power
failure the same holds with `synchronous="FULL"`; with `"NORMAL"` the last moments may be missing, nothing is damaged.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kapstan.apiserver.storage.database import LogRow, Synchronous, connect, read_clusters, read_log, read_settings
from kapstan.apiserver.storage.history import HistoryLimits
from kapstan.apiserver.storage.interface import Event, Record, StorageError
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.record import record_from_value
from kapstan.apiserver.storage.writer import Writer
from kapstan.machinery.gvk import GroupResource

__all__ = ("Database", "SQLiteStorage")

_INSERT = "INSERT INTO log (cluster, revision, type, api_group, resource, key, value) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Database:
    """One open file. `storage(name)` gives the objects of a logical cluster, making it where there is none."""

    def __init__(self, path: Path, connection: sqlite3.Connection, limits: HistoryLimits) -> None:
        self.path = path
        self._limits = limits
        self._storages: dict[str, SQLiteStorage] = {}
        self._next_id = 1
        self._load(connection)
        self.writer = Writer(connection, path.name)

    @classmethod
    async def open(
        cls, path: Path, *, synchronous: Synchronous = "FULL", limits: HistoryLimits | None = None
    ) -> Database:
        """Open or make the file; StorageError says why not."""
        return cls(path, connect(path, synchronous), limits or HistoryLimits())

    @property
    def clusters(self) -> Sequence[str]:
        return tuple(self._storages)

    async def storage(self, name: str) -> SQLiteStorage:
        found = self._storages.get(name)
        if found is None:
            found = self._storages[name] = SQLiteStorage(self, self._next_id, 0, self._limits)
            self._next_id += 1
            await self.execute("INSERT INTO cluster (id, name) VALUES (?, ?)", (found.id, name))
        return found

    async def drop(self, name: str) -> None:
        """Forget a logical cluster and all its objects."""
        storage = self._storages.pop(name, None)
        if storage is not None:
            for table, column in (("log", "cluster"), ("setting", "cluster"), ("cluster", "id")):
                await self.execute(f"DELETE FROM {table} WHERE {column} = ?", (storage.id,))  # noqa: S608 - constants

    async def execute(self, statement: str, parameters: tuple[object, ...]) -> None:
        """Run one statement; returns when it is durable."""
        job = _Statement(statement, [parameters])
        self.writer.submit(job)
        await job.wait()

    async def close(self) -> None:
        """Write what is pending and close the file."""
        await self.writer.stop()

    def _load(self, connection: sqlite3.Connection) -> None:
        by_id: dict[int, SQLiteStorage] = {}
        for row in read_clusters(connection):
            by_id[row.id] = self._storages[row.name] = SQLiteStorage(self, row.id, row.floor, self._limits)
            self._next_id = row.id + 1
        for cluster, name, value in read_settings(connection):
            by_id[cluster].load_setting(name, value)
        interned: dict[GroupResource, GroupResource] = {}
        for entry in read_log(connection):
            kind = GroupResource(entry.group, entry.resource)
            by_id[entry.cluster].load(entry, interned.setdefault(kind, kind))


class SQLiteStorage(MemoryStorage):
    """The objects of one logical cluster, in memory and in a database."""

    def __init__(self, database: Database, id: int, floor: int, limits: HistoryLimits) -> None:
        super().__init__(limits=limits)
        self.id = id
        self._database = database
        self._revision = self._allocated = self._history.floor = floor
        self._pending: dict[tuple[GroupResource, str], _Append] = {}

    def latest(self, kind: GroupResource, key: str) -> Record | None:
        pending = self._pending.get((kind, key))
        if pending is None:
            return self.get(kind, key)
        return None if pending.event.type == "DELETED" else pending.event.record

    async def settle(self, record: Record) -> None:
        pending = self._pending.get((record.kind, record.key))
        if pending is not None:
            await pending.wait()

    async def set_setting(self, name: str, value: bytes) -> None:
        await self._database.execute("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", (self.id, name, value))
        self._settings[name] = value

    def _next_revision(self) -> int:
        return self._allocated + 1

    def _submit(self, event: Event) -> None:
        self._allocated = event.revision
        append = self._pending[event.record.kind, event.record.key] = _Append(self, event)
        self._database.writer.submit(append)

    def committed(self, append: _Append) -> None:
        """A write is durable: let everyone see it."""
        record = append.event.record
        if self._pending.get((record.kind, record.key)) is append:
            del self._pending[record.kind, record.key]
        self.problem = ""
        self._commit(append.event)

    def abandoned(self, append: _Append, error: Exception) -> None:
        """A write has failed; nobody has seen it."""
        self.problem = str(error)
        record = append.event.record
        if self._pending.get((record.kind, record.key)) is append:
            del self._pending[record.kind, record.key]

    def _forget(self, events: Sequence[Event]) -> None:
        if not events:
            return
        replaced = [event.previous.revision for event in events if event.previous is not None]
        removed = [event.revision for event in events if event.type == "DELETED"]
        submit = self._database.writer.submit
        submit(_Statement("UPDATE cluster SET floor = ? WHERE id = ?", [(events[-1].revision, self.id)]))
        rows: list[tuple[object, ...]] = [(self.id, revision) for revision in replaced + removed]
        submit(_Statement("DELETE FROM log WHERE cluster = ? AND revision = ?", rows))

    def load(self, row: LogRow, kind: GroupResource) -> None:
        """Replay one row of the log."""
        try:
            record = record_from_value(kind, row.key, row.revision, row.value)
        except msgspec.MsgspecError as error:
            raise StorageError(
                f"the database {self._database.path} is damaged: {kind} {row.key} at revision {row.revision} "
                f"cannot be read ({error}); restore a copy of it, or choose another data directory"
            ) from error
        event = Event(row.type, record, self.get(kind, row.key), self._clock())
        self._apply(event)
        self._revision = self._allocated = max(self._history.floor, row.revision)
        if row.revision > self._history.floor:
            self._history.append(event)

    def load_setting(self, name: str, value: bytes) -> None:
        self._settings[name] = value


class _Waiting:
    """A job that coroutines wait for."""

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Each waiter has a future of its own: one that gives up takes nobody with it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        await future

    def _release(self, error: Exception | None = None) -> None:
        for future in self._waiters:
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(StorageError(f"the write could not be stored: {error}"))


class _Append(_Waiting):
    """Writes one event to the log."""

    def __init__(self, storage: SQLiteStorage, event: Event) -> None:
        super().__init__()
        self.event = event
        self._storage = storage

    def run(self, connection: sqlite3.Connection) -> None:
        record = self.event.record
        group, resource = record.kind
        row = (self._storage.id, record.revision, self.event.type, group, resource, record.key, record.value)
        connection.execute(_INSERT, row)

    def done(self) -> None:
        self._storage.committed(self)
        self._release()

    def failed(self, error: Exception) -> None:
        self._storage.abandoned(self, error)
        self._release(error)


class _Statement(_Waiting):
    """Runs one statement, for each of several sets of parameters."""

    def __init__(self, statement: str, parameters: list[tuple[object, ...]]) -> None:
        super().__init__()
        self._statement = statement
        self._parameters = parameters

    def run(self, connection: sqlite3.Connection) -> None:
        connection.executemany(self._statement, self._parameters)

    def done(self) -> None:
        self._release()

    def failed(self, error: Exception) -> None:
        self._release(error)
