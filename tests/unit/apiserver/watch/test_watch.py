"""Watches: what a client sees first, what follows, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kapstan.apiserver.registry import verbs, watch
from kapstan.apiserver.registry.api import API, WatchEvent
from kapstan.apiserver.registry.representation import AsObject
from kapstan.apiserver.request import ListOptions
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.errors import APIError, Expired, Timeout
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


async def create(api: API, name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def take(events: AsyncIterator[WatchEvent], count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(5):
        while len(found) < count:
            event = await anext(events)
            found.append((event.type, event.object["metadata"].get("name", "")))
    return found


async def test_without_a_version_the_present_objects_come_first(api: API) -> None:
    await create(api, "a")
    async with api.watch(CONFIG_MAP, "default") as events:
        assert await take(events, 1) == [("ADDED", "a")]
        await create(api, "b")
        await api.patch(CONFIG_MAP, "a", "default", {"data": {"x": "1"}})
        await api.delete(CONFIG_MAP, "a", "default")
        assert await take(events, 3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_version_is_where_the_watch_goes_on(api: API) -> None:
    await create(api, "a")
    listed = await api.list(CONFIG_MAP, "default")
    await create(api, "b")
    options = ListOptions(resource_version=listed.resource_version)
    async with api.watch(CONFIG_MAP, "default", options=options) as events:
        await create(api, "c")
        assert await take(events, 2) == [("ADDED", "b"), ("ADDED", "c")]


async def test_other_namespaces_are_not_seen(api: API) -> None:
    async with api.watch(CONFIG_MAP, "kube-public") as events:
        await create(api, "a")
        metadata = {"name": "b", "namespace": "kube-public"}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        assert await take(events, 1) == [("ADDED", "b")]


async def test_leaving_the_selection_is_a_deletion_and_joining_it_a_creation(server: EmbeddedServer) -> None:
    api = server.cluster.api
    await create(api, "a", l="x")
    async with api.watch(CONFIG_MAP, "default", options=ListOptions(label_selector="l=x")) as events:
        assert await take(events, 1) == [("ADDED", "a")]
        await api.patch(CONFIG_MAP, "a", "default", {"metadata": {"labels": {"l": "y"}}})
        async with asyncio.timeout(5):
            left = await anext(events)
        assert left.type == "DELETED"
        assert left.object["metadata"]["labels"] == {"l": "x"}, "as it was while it was selected"
        assert left.object["metadata"]["resourceVersion"] == str(server.cluster.storage.revision)
        await api.patch(CONFIG_MAP, "a", "default", {"data": {"unseen": "1"}})
        await api.patch(CONFIG_MAP, "a", "default", {"metadata": {"labels": {"l": "x"}}})
        await api.delete(CONFIG_MAP, "a", "default")
        assert await take(events, 2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_one_object_can_be_watched_by_its_name(api: API) -> None:
    async with api.watch(CONFIG_MAP, "default", options=ListOptions(field_selector="metadata.name=b")) as events:
        await create(api, "a")
        await create(api, "b")
        assert await take(events, 1) == [("ADDED", "b")]


async def test_a_streamed_list_ends_with_a_marked_bookmark(server: EmbeddedServer) -> None:
    api = server.cluster.api
    await create(api, "a")
    options = ListOptions(send_initial_events=True, allow_watch_bookmarks=True, resource_version_match="NotOlderThan")
    async with api.watch(CONFIG_MAP, "default", options=options) as events, asyncio.timeout(5):
        assert (await anext(events)).type == "ADDED"
        bookmark = await anext(events)
    assert bookmark.type == "BOOKMARK"
    assert bookmark.object == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "resourceVersion": str(server.cluster.storage.revision),
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
    }


async def test_without_initial_events_only_the_future_is_seen(api: API) -> None:
    await create(api, "a")
    options = ListOptions(send_initial_events=False, resource_version_match="NotOlderThan")
    async with api.watch(CONFIG_MAP, "default", options=options) as events:
        await asyncio.sleep(0)
        await create(api, "b")
        assert await take(events, 1) == [("ADDED", "b")]


async def test_bookmarks_come_now_and_then(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BOOKMARK_INTERVAL", 0.01)
    async with api.watch(CONFIG_MAP, "default", options=ListOptions(allow_watch_bookmarks=True)) as events:
        assert await take(events, 3) == [("BOOKMARK", "")] * 3


async def test_a_watch_ends_with_a_bookmark_when_its_time_is_over(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_BEFORE_END", 0.5)
    async with api.watch(
        CONFIG_MAP, "default", options=ListOptions(timeout_seconds=1, allow_watch_bookmarks=True)
    ) as events:
        async with asyncio.timeout(5):
            found = [event.type async for event in events]
    assert found == ["BOOKMARK", "BOOKMARK"]


async def test_no_bookmark_leads_past_what_a_client_has_not_got(server: EmbeddedServer) -> None:
    """A watch that is ended, as when a definition changes, goes on later where the client is, and misses nothing."""
    api = server.cluster.api
    options = ListOptions(allow_watch_bookmarks=True)
    async with api.watch(CONFIG_MAP, "default", options=options) as events:
        await create(api, "a")
        assert await take(events, 2) == [("BOOKMARK", ""), ("ADDED", "a")]
        created = await create(api, "b")
        server.cluster.watches.end()
        async with asyncio.timeout(5):
            seen = [event.object["metadata"] async for event in events]
    version = int(created["metadata"]["resourceVersion"])
    passed = [metadata for metadata in seen if int(metadata["resourceVersion"]) >= version]
    assert [metadata.get("name") for metadata in passed] in ([], ["b"])


async def test_a_version_below_the_floor_has_expired(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    created = await create(api, "a")
    await create(api, "b")
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=0)
    storage.compact()
    options = ListOptions(resource_version=created["metadata"]["resourceVersion"])
    async with api.watch(CONFIG_MAP, "default", options=options) as events:
        with pytest.raises(Expired, match="too old resource version: "):
            await anext(events)


async def test_a_streamed_list_of_the_future_is_refused_within_the_stream(api: API) -> None:
    options = ListOptions(send_initial_events=True, resource_version="99999", resource_version_match="NotOlderThan")
    async with api.watch(CONFIG_MAP, "default", options=options) as events:
        with pytest.raises(Timeout, match="Too large resource version"):
            await anext(events)


async def test_what_is_no_version_is_refused_before_the_stream(api: API) -> None:
    with pytest.raises(APIError, match="invalid syntax"):
        async with api.watch(CONFIG_MAP, "default", options=ListOptions(resource_version="abc")):
            pass


async def test_an_exception_in_the_callers_block_is_the_callers(api: API) -> None:
    with pytest.raises(APIError, match="mine"):
        async with api.watch(CONFIG_MAP):
            raise APIError("mine")


class SlowSink:
    """Takes a few frames and then no more, until it is told to."""

    def __init__(self, room: int) -> None:
        self.frames: list[bytes] = []
        self.room = room
        self.aborted = False
        self._more = asyncio.Event()

    @property
    def ready(self) -> bool:
        return len(self.frames) < self.room

    def write(self, data: bytes) -> None:
        assert self.ready
        self.frames.append(data)

    async def send(self, data: bytes) -> None:
        while not self.ready:
            await self._more.wait()
        self.write(data)

    def abort(self) -> None:
        self.aborted = True
        self.take_more(1000)

    def take_more(self, room: int) -> None:
        self.room = room
        self._more.set()


def names(sink: SlowSink) -> list[str]:
    lines = b"".join(sink.frames).splitlines()
    return [msgspec.json.decode(line, type=WatchEvent).object["metadata"]["name"] for line in lines]


async def until_it_has(sink: SlowSink, count: int) -> None:
    while len(names(sink)) < count:  # noqa: ASYNC110 - some turns of the event loop
        await asyncio.sleep(0)


async def test_who_is_slow_gets_everything_later(server: EmbeddedServer) -> None:
    api = server.cluster.api
    watching = verbs.watch(api._request("watch", CONFIG_MAP, "default"), ListOptions(), AsObject())
    sink = SlowSink(room=2)
    async with asyncio.timeout(20):
        task = asyncio.create_task(watching.run(sink))
        for number in range(5):
            await asyncio.sleep(0)
            await create(api, f"a{number}")
            await asyncio.sleep(0)
        assert names(sink) == ["a0", "a1"]
        sink.take_more(1000)
        await until_it_has(sink, 5)
        await create(api, "a5")
        await until_it_has(sink, 6)
    task.cancel()
    await asyncio.wait((task,))
    assert names(sink) == [f"a{number}" for number in range(6)]
    assert not sink.aborted


async def test_who_waits_for_what_is_forgotten_is_cut_off(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=8)
    watching = verbs.watch(api._request("watch", CONFIG_MAP, "default"), ListOptions(), AsObject())
    sink = SlowSink(room=2)
    async with asyncio.timeout(20):
        task = asyncio.create_task(watching.run(sink))
        number = 0
        while not task.done():
            await asyncio.sleep(0)
            await create(api, f"a{number}")
            number += 1
    assert sink.aborted
    assert names(sink)[:2] == ["a0", "a1"]
    assert number < 20


async def test_a_large_object_waits_for_clients_alone(server: EmbeddedServer) -> None:
    """It is sent piece by piece, and in its place."""
    api = server.cluster.api
    async with api.watch(CONFIG_MAP, "default") as events:
        metadata = {"name": "b", "namespace": "default"}
        await create(api, "a")
        large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * 500_000}}
        await api.create(large)
        await create(api, "c")
        assert await take(events, 3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_events_are_encoded_once_for_all_who_want_them_so(server: EmbeddedServer) -> None:
    api = server.cluster.api
    sinks = [SlowSink(room=100) for _ in range(3)]
    watches = [verbs.watch(api._request("watch", CONFIG_MAP, "default"), ListOptions(), AsObject()) for _ in sinks]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.run(sink)) for each, sink in zip(watches, sinks, strict=True)]
        await asyncio.sleep(0)
        await create(api, "a")
        for _ in range(3):  # turns of the event loop
            await asyncio.sleep(0)
        for task in running:
            task.cancel()
    frames = [sink.frames[0] for sink in sinks]
    assert frames[0] is frames[1] is frames[2]


async def test_what_was_encoded_for_watchers_is_forgotten_once_they_have_it(server: EmbeddedServer) -> None:
    """Hundreds of idle clusters would each keep their latest events twice."""
    api, storage, sink = server.cluster.api, server.cluster.storage, SlowSink(room=100)
    watch = verbs.watch(api._request("watch", CONFIG_MAP, "default"), ListOptions(), AsObject())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watch.run(sink))
        await asyncio.sleep(0)
        before = storage.revision
        await create(api, "a")
        for _ in range(4):  # turns of the event loop
            await asyncio.sleep(0)
        running.cancel()
    assert sink.frames
    assert not any(event.frames for event in storage.events_since(before))
