"""The database file: its format, and opening one without harm.

A file that is damaged, belongs to another program, to a newer version or to a running server is refused with a sentence
that says so, before anything in it has been touched.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from kapstan.apiserver.storage.interface import EventType, StorageError

__all__ = ("ClusterRow", "LogRow", "Synchronous", "connect", "read_clusters", "read_log", "read_settings")

Synchronous = Literal["FULL", "NORMAL"]

_APPLICATION_ID = 0x4B617073  # "Kaps"
_FORMAT = 1
_LOCKS = Path("/proc/locks")  # Linux
_CREATE = """
CREATE TABLE cluster (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, floor INTEGER NOT NULL DEFAULT 0);
CREATE TABLE setting (cluster INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (cluster, name));
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  cluster INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  type TEXT NOT NULL,
  api_group TEXT NOT NULL,
  resource TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL
);
CREATE UNIQUE INDEX log_revision ON log (cluster, revision);
"""


class ClusterRow(NamedTuple):
    """A logical cluster; of its log, what is at or below the floor has been compacted."""

    id: int
    name: str
    floor: int


class LogRow(NamedTuple):
    """One write."""

    cluster: int
    revision: int
    type: EventType
    group: str
    resource: str
    key: str
    value: bytes


def connect(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """Open or make the database at `path`, exclusively; StorageError says why not."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it holds Secrets
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"cannot open the database {path}: {_reason(error)}") from error
    try:
        _prepare(connection, path, synchronous)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, synchronous: Synchronous) -> None:
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # two servers on one file would destroy each other's work
        _check(connection, path)
        path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        if not _pragma(connection, "user_version"):
            connection.executescript(
                f"BEGIN; {_CREATE} PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_FORMAT}; COMMIT;"
            )
        # Takes the lock, which the locking mode keeps until the process ends, however it ends.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StorageError(
                f"the database {path} is in use by another server{_holder(path)}: "
                "stop that one, or choose another data directory"
            ) from error
        raise StorageError(f"cannot use the database {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error


def _holder(path: Path) -> str:
    """Who has locked a file, where the system tells.

    We must not open the file to ask: closing it again would end the locks of a server in this very process.
    """
    try:
        found, locks = path.stat(), _LOCKS.read_text().splitlines()
    except OSError:
        return ""
    where = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for lock in map(str.split, locks):  # 1: POSIX ADVISORY WRITE 4711 08:01:123 0 EOF
        *_, process, place, _, _ = lock
        if place == where and process not in ("0", "-1"):  # those of another container's processes
            return f" (process {process})"
    return ""


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = _pragma(connection, "application_id")
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != _APPLICATION_ID and not (empty and application == 0):
        raise StorageError(f"the database {path} belongs to another program; choose another data directory")
    version = _pragma(connection, "user_version")
    if version > _FORMAT:
        raise StorageError(
            f"the database {path} was written by a newer version (format {version}, this one knows {_FORMAT}); "
            "use that version, or another data directory"
        )
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise _damaged(path, result)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _damaged(path: Path, why: str) -> StorageError:
    return StorageError(
        f"the database {path} is damaged or not a database ({why.strip()}); it was left as it is: "
        "restore a copy of it, or choose another data directory"
    )


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def read_clusters(connection: sqlite3.Connection) -> list[ClusterRow]:
    return [ClusterRow(*row) for row in connection.execute("SELECT id, name, floor FROM cluster ORDER BY id")]


def read_settings(connection: sqlite3.Connection) -> Iterator[tuple[int, str, bytes]]:
    yield from connection.execute("SELECT cluster, name, value FROM setting")


def read_log(connection: sqlite3.Connection) -> Iterator[LogRow]:
    """Every write that is still there, in the order in which they were made."""
    query = "SELECT cluster, revision, type, api_group, resource, key, value FROM log ORDER BY id"
    return map(LogRow._make, connection.execute(query))
