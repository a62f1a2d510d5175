"""What must hold for every storage."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kapstan.apiserver.storage.interface import Event, Record, RevisionTooNew, RevisionTooOld, WriteConflict
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.machinery.gvk import GroupResource

CONFIG_MAPS = GroupResource("", "configmaps")
SECRETS = GroupResource("", "secrets")


def data(record: Record | None) -> str | None:
    return None if record is None else str(msgspec.json.decode(record.value)["data"])


async def test_revisions_grow_by_one_over_all_kinds(storage: MemoryStorage, build: Any) -> None:
    first = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    second = await storage.put(CONFIG_MAPS, "b/x", None, build("b/x"))
    third = await storage.delete(CONFIG_MAPS, "a/x", first, build("a/x"))
    assert [first.revision, second.revision, third.revision] == [1, 2, 3]
    assert storage.revision == 3


async def test_the_revision_is_the_resource_version(storage: MemoryStorage, build: Any) -> None:
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    assert msgspec.json.decode(record.value)["metadata"]["resourceVersion"] == "1"


async def test_a_write_on_something_else_than_the_latest_is_refused(storage: MemoryStorage, build: Any) -> None:
    old = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    with pytest.raises(WriteConflict):
        await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    new = await storage.put(CONFIG_MAPS, "a/x", old, build("a/x", data="new"))
    with pytest.raises(WriteConflict):
        await storage.put(CONFIG_MAPS, "a/x", old, build("a/x"))
    with pytest.raises(WriteConflict):
        await storage.delete(CONFIG_MAPS, "a/x", old, build("a/x"))
    assert storage.get(CONFIG_MAPS, "a/x") is new


async def test_of_concurrent_writers_one_wins(storage: MemoryStorage, build: Any) -> None:
    base = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    writes = (storage.put(CONFIG_MAPS, "a/x", base, build("a/x", data=str(n))) for n in range(10))
    results = await asyncio.gather(*writes, return_exceptions=True)
    won = [result for result in results if isinstance(result, Record)]
    assert len(won) == 1
    assert storage.get(CONFIG_MAPS, "a/x") is won[0]
    assert all(isinstance(result, WriteConflict) for result in results if result is not won[0])


async def test_lists_are_in_etcd_order_and_within_the_prefix(storage: MemoryStorage, build: Any) -> None:
    for key in ("b/x", "a/y", "a-b/z", "a/x"):
        await storage.put(CONFIG_MAPS, key, None, build(key))
    assert [record.key for record in storage.list(CONFIG_MAPS)] == ["a-b/z", "a/x", "a/y", "b/x"]
    assert [record.key for record in storage.list(CONFIG_MAPS, "a/")] == ["a/x", "a/y"]
    assert [record.key for record in storage.list(CONFIG_MAPS, "a/", start="a/x\0")] == ["a/y"]
    assert not storage.list(SECRETS)


async def test_the_past_can_be_listed_as_it_was(storage: MemoryStorage, build: Any) -> None:
    snapshots: list[tuple[int, list[tuple[str, str | None]]]] = []

    def remember() -> None:
        listed = [(record.key, data(record)) for record in storage.list(CONFIG_MAPS)]
        snapshots.append((storage.revision, listed))

    remember()
    first = await storage.put(CONFIG_MAPS, "a/b", None, build("a/b", data="1"))
    remember()
    await storage.put(CONFIG_MAPS, "a/a", None, build("a/a", data="2"))
    remember()
    second = await storage.put(CONFIG_MAPS, "a/b", first, build("a/b", data="3"))
    remember()
    await storage.delete(CONFIG_MAPS, "a/b", second, build("a/b", data="3"))
    remember()
    await storage.put(CONFIG_MAPS, "a/b", None, build("a/b", data="4"))
    remember()
    for revision, listed in snapshots:
        past = storage.list(CONFIG_MAPS, "a/", revision=revision)
        assert [(record.key, data(record)) for record in past] == listed


async def test_the_future_cannot_be_listed_nor_watched(storage: MemoryStorage) -> None:
    with pytest.raises(RevisionTooNew):
        storage.list(CONFIG_MAPS, revision=7)
    with pytest.raises(RevisionTooNew):
        storage.events_since(7)


async def test_observers_hear_each_committed_write_in_order(storage: MemoryStorage, build: Any) -> None:
    heard: list[Event] = []
    stop = storage.observe(heard.append, CONFIG_MAPS)
    storage.observe(lambda event: pytest.fail("a Secret was not written"), SECRETS)
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    last = await storage.delete(CONFIG_MAPS, "a/x", record, build("a/x"))
    stop()
    await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    assert [(event.type, event.record, event.previous) for event in heard] == [
        ("ADDED", record, None),
        ("DELETED", last, record),
    ]
    assert [event.revision for event in storage.events_since(1, CONFIG_MAPS)] == [2, 3]


async def test_an_observer_that_fails_harms_nobody(
    storage: MemoryStorage, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise ValueError("no")

    heard: list[Event] = []
    storage.observe(fail)
    storage.observe(heard.append)
    await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    assert len(heard) == 1
    assert "observer" in caplog.text


async def test_history_below_the_floor_is_expired(storage: MemoryStorage, build: Any) -> None:
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=2)
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    for number in range(5):
        record = await storage.put(CONFIG_MAPS, "a/x", record, build("a/x", data=str(number)))
    storage.compact()
    assert storage.oldest_revision == 4
    assert [event.revision for event in storage.events_since(4)] == [5, 6]
    with pytest.raises(RevisionTooOld):
        storage.events_since(3)
    with pytest.raises(RevisionTooOld):
        storage.list(CONFIG_MAPS, revision=3)


async def test_dependents_follow_owner_references(storage: MemoryStorage, build: Any) -> None:
    record = await storage.put(CONFIG_MAPS, "a/x", None, build("a/x", owners=("u1", "u2")))
    assert storage.dependents("u1") == (record,)
    changed = await storage.put(CONFIG_MAPS, "a/x", record, build("a/x", owners=("u2",)))
    assert not storage.dependents("u1")
    assert storage.dependents("u2") == (changed,)
    await storage.delete(CONFIG_MAPS, "a/x", changed, build("a/x", owners=("u2",)))
    assert not storage.dependents("u2")


async def test_clusters_that_share_a_base_do_not_see_each_other(build: Any) -> None:
    template = MemoryStorage()
    shared = await template.put(CONFIG_MAPS, "a/x", None, build("a/x"))
    one, two = MemoryStorage(template.snapshot()), MemoryStorage(template.snapshot())
    assert one.get(CONFIG_MAPS, "a/x") is shared is two.get(CONFIG_MAPS, "a/x")
    await one.delete(CONFIG_MAPS, "a/x", shared, build("a/x"))
    assert one.get(CONFIG_MAPS, "a/x") is None
    assert two.get(CONFIG_MAPS, "a/x") is shared
    assert (one.revision, two.revision) == (2, 1)
