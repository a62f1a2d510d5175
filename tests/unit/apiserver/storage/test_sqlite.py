"""What the database adds: durability, refusals that touch nothing, compaction on disk."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from kapstan.apiserver.server import EmbeddedServer
from kapstan.apiserver.storage.history import HistoryLimits
from kapstan.apiserver.storage.interface import Event, StorageError
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.sqlite import Database, SQLiteStorage
from kapstan.machinery.gvk import GroupResource

CONFIG_MAPS = GroupResource("", "configmaps")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "kapstan.db"


async def open_storage(path: Path, **options: Any) -> tuple[Database, SQLiteStorage]:
    database = await Database.open(path, **options)
    return database, await database.storage("test")


async def test_a_restart_restores_objects_revisions_history_and_settings(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x", labels={"k": "v"}, owners=("o",), uid="u"))
    await storage.delete(CONFIG_MAPS, "a/x", record, build("a/x"))
    kept = await storage.put(CONFIG_MAPS, "a/y", None, build("a/y", labels={"k": "v"}, owners=("o",), uid="u"))
    await storage.set_setting("ca", b"secret")
    await database.close()

    database, storage = await open_storage(path)
    found = storage.get(CONFIG_MAPS, "a/y")
    assert found is not None
    assert (found.value, found.labels, found.uid, found.owner_uids) == (kept.value, {"k": "v"}, "u", ("o",))
    assert storage.dependents("o") == (found,)
    assert storage.revision == 3
    assert [(event.type, event.record.key) for event in storage.events_since(0)] == [
        ("ADDED", "a/x"),
        ("DELETED", "a/x"),
        ("ADDED", "a/y"),
    ]
    assert storage.setting("ca") == b"secret"
    assert (await storage.put(CONFIG_MAPS, "a/z", None, build("a/z"))).revision == 4
    await database.close()


async def test_clusters_that_begin_alike_share_what_they_begin_with_and_keep_it(path: Path, build: Any) -> None:
    common = MemoryStorage()
    record = await common.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    await common.put(CONFIG_MAPS, "a/y", None, build("a/y"))
    database, storage = await open_storage(path)
    await storage.begin_with(common.snapshot())
    assert storage.get(CONFIG_MAPS, "a/x") is record
    assert (await storage.put(CONFIG_MAPS, "a/z", None, build("a/z"))).revision == 3
    await database.close()

    database, storage = await open_storage(path)
    assert [(found.key, found.revision) for found in storage.list(CONFIG_MAPS)] == [("a/x", 1), ("a/y", 2), ("a/z", 3)]
    await database.close()


async def test_a_beginning_that_cannot_be_written_is_refused(path: Path, build: Any) -> None:
    common = MemoryStorage()
    await common.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    database, storage = await open_storage(path)
    await database.execute("DROP TABLE log", ())
    with pytest.raises(StorageError):
        await storage.begin_with(common.snapshot())
    assert storage.revision == 0
    await database.close()


async def test_clusters_in_one_file_are_separate(path: Path, build: Any) -> None:
    database = await Database.open(path)
    one, two = await database.storage("one"), await database.storage("two")
    await one.put(CONFIG_MAPS, "a/x", None, build("a/x", data="one"))
    await two.put(CONFIG_MAPS, "a/x", None, build("a/x", data="two"))
    await database.drop("one")
    await database.close()
    database = await Database.open(path)
    assert database.clusters == ("two",)
    two = await database.storage("two")
    record = two.get(CONFIG_MAPS, "a/x")
    assert record is not None and b"two" in record.value
    await database.close()


async def test_nobody_sees_a_write_before_it_is_durable(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    heard: list[Event] = []
    storage.observe(heard.append)
    write = asyncio.ensure_future(storage.put(CONFIG_MAPS, "a/x", None, build("a/x")))
    await asyncio.sleep(0)
    pending = storage.latest(CONFIG_MAPS, "a/x")
    assert pending is not None
    assert storage.get(CONFIG_MAPS, "a/x") is None
    assert (storage.revision, heard) == (0, [])
    await storage.settle(pending)
    assert storage.get(CONFIG_MAPS, "a/x") is pending is await write
    await database.close()


async def test_a_writer_that_gives_up_does_not_undo_the_write(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    write = asyncio.ensure_future(storage.put(CONFIG_MAPS, "a/x", None, build("a/x")))
    await asyncio.sleep(0)
    write.cancel()
    pending = storage.latest(CONFIG_MAPS, "a/x")
    assert pending is not None
    await storage.settle(pending)
    assert storage.get(CONFIG_MAPS, "a/x") is pending
    await database.close()


async def test_a_failed_transaction_fails_what_was_built_on_it_and_nothing_later(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    base = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    database.writer._connection.execute("PRAGMA query_only = 1")
    first = asyncio.ensure_future(storage.put(CONFIG_MAPS, "a/x", base, build("a/x", data="1")))
    await asyncio.sleep(0)
    pending = storage.latest(CONFIG_MAPS, "a/x")
    second = asyncio.ensure_future(storage.put(CONFIG_MAPS, "a/x", pending, build("a/x", data="2")))
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(result) for result in results] == [StorageError, StorageError]
    assert "readonly" in storage.problem
    assert storage.latest(CONFIG_MAPS, "a/x") is base is storage.get(CONFIG_MAPS, "a/x")

    database.writer._connection.execute("PRAGMA query_only = 0")
    third = await storage.put(CONFIG_MAPS, "a/x", base, build("a/x", data="3"))
    assert storage.problem == ""
    await database.close()
    database, storage = await open_storage(path)
    found = storage.get(CONFIG_MAPS, "a/x")
    assert found is not None and found.value == third.value
    await database.close()


async def test_compaction_keeps_the_state_and_the_floor(path: Path, build: Any) -> None:
    limits = HistoryLimits(events=4)
    database, storage = await open_storage(path, limits=limits)
    gone = await storage.put(CONFIG_MAPS, "a/gone", None, build("a/gone"))
    await storage.delete(CONFIG_MAPS, "a/gone", gone, build("a/gone"))
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    for number in range(100):
        record = await storage.put(CONFIG_MAPS, "a/x", record, build("a/x", data=str(number)))
    storage.compact()
    floor = storage.oldest_revision
    await database.close()

    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT count(*) FROM log").fetchone()[0]
    connection.close()
    assert rows == 5  # four events, and what the first of them replaced
    database, storage = await open_storage(path, limits=limits)
    assert (storage.oldest_revision, storage.revision) == (floor, 103)
    assert [found.value for found in storage.list(CONFIG_MAPS)] == [record.value]
    assert len(storage.list(CONFIG_MAPS, revision=floor)) == 1
    await database.close()


async def test_revisions_never_go_back_even_if_the_newest_row_is_compacted(path: Path, build: Any) -> None:
    limits = HistoryLimits(events=0)
    database, storage = await open_storage(path, limits=limits)
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    await storage.delete(CONFIG_MAPS, "a/x", record, build("a/x"))
    storage.compact()
    await database.close()
    database, storage = await open_storage(path, limits=limits)
    assert storage.revision == 2
    await database.close()


async def test_the_file_is_for_its_owner_only(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    modes = {found.name: found.stat().st_mode & 0o777 for found in path.parent.iterdir()}
    await database.close()
    assert set(modes.values()) == {0o600}


async def test_a_server_that_is_cancelled_while_it_starts_has_closed_its_database(path: Path) -> None:
    """When the cancellation is heard: whoever is told so may delete the folder, and end."""
    starting = asyncio.create_task(EmbeddedServer(data_dir=path.parent).__aenter__())
    for _ in range(3):
        await asyncio.sleep(0)
    assert not starting.done()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await (await Database.open(path.parent / "kapstan.db")).close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_that_is_cancelled_goes_on(path: Path) -> None:
    """Somebody presses Ctrl-C twice."""
    database = await Database.open(path)
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await database.writer.ended


async def test_a_second_server_is_refused(path: Path) -> None:
    database = await Database.open(path)
    with pytest.raises(StorageError, match=r"in use by another server.*: stop that one, or choose another") as refused:
        await Database.open(path)
    locks = Path("/proc/locks")  # Linux tells who it is
    if locks.exists() and f":{path.stat().st_ino} " in locks.read_text():
        assert f"(process {os.getpid()})" in str(refused.value)
    await database.close()
    await (await Database.open(path)).close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"this is not a database, but it is long enough to have a header" * 20, "not a database"),
        ("CREATE TABLE t (x)", "belongs to another program"),
        ("PRAGMA application_id = 1264676979; PRAGMA user_version = 99; CREATE TABLE t (x)", "newer version"),
    ],
)
async def test_a_foreign_file_is_refused_and_left_alone(path: Path, content: bytes | str, message: str) -> None:
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        connection = sqlite3.connect(path)
        connection.executescript(content)
        connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=message):
        await Database.open(path)
    assert path.read_bytes() == before


async def test_a_damaged_file_is_refused_and_left_alone(path: Path, build: Any) -> None:
    database, storage = await open_storage(path)
    for number in range(200):
        await storage.put(CONFIG_MAPS, f"a/{number}", None, build(f"a/{number}", data="x" * 1000))
    await database.close()
    damaged = bytearray(path.read_bytes())
    damaged[8192:65536] = b"\xff" * (65536 - 8192)
    path.write_bytes(damaged)
    with pytest.raises(StorageError, match="damaged"):
        await Database.open(path)
    assert path.read_bytes() == damaged


async def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot open the database"):
        await Database.open(tmp_path / "file" / "kapstan.db")


_WRITER = """
import asyncio, sys
from pathlib import Path
from kapstan.apiserver.storage.record import record_from_object
from kapstan.apiserver.storage.sqlite import Database
from kapstan.machinery.gvk import GroupResource

KIND = GroupResource("", "configmaps")

async def write(storage, worker):
    count = 0
    while True:
        key = f"a/{worker}-{count}"
        build = lambda revision: record_from_object(KIND, key, revision, {"metadata": {"name": key}, "data": "x" * 500})
        record = await storage.put(KIND, key, None, build)
        print(key, record.revision, flush=True)
        count += 1

async def main():
    database = await Database.open(Path(sys.argv[1]))
    storage = await database.storage("test")
    await asyncio.gather(*(write(storage, f"{sys.argv[2]}-{worker}") for worker in range(8)))

asyncio.run(main())
"""


def write_until_killed(path: Path, name: str) -> dict[str, int]:
    """What a process had acknowledged when it was killed in the middle of its work."""
    command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(path), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [line for _, line in zip(range(300), process.stdout, strict=False)]
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout
    complete = [line.split() for line in lines if line.endswith("\n")]
    return {key: int(revision) for key, revision in complete}


async def test_no_acknowledged_write_is_lost_when_the_process_is_killed(path: Path) -> None:
    acknowledged: dict[str, int] = {}
    for round in range(3):
        acknowledged |= write_until_killed(path, str(round))
        database, storage = await open_storage(path)
        stored = {record.key: record.revision for record in storage.list(CONFIG_MAPS)}
        await database.close()
        assert acknowledged.items() <= stored.items()
    assert len(acknowledged) >= 900
