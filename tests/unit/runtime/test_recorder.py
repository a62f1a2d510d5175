"""The event recorder: series, floods, failures. The server's side of it is a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.k8s.events_v1 import Event
from kapstan.machinery.errors import ConnectionFailed, Forbidden, NotFound
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.runtime.background import background
from kapstan.runtime.recorder import EventBroadcaster, EventRecorder


class Sink:
    """Takes events as the API server does, or refuses them."""

    def __init__(self) -> None:
        self.created: list[Event] = []
        self.counts: list[int] = []
        self.errors: list[Exception] = []

    async def create(self, event: Event) -> Event:
        self._maybe_fail()
        self.created.append(event)
        return event

    async def patch(self, event: Event, patch: Patch) -> Event:
        self._maybe_fail()
        self.counts.append(patch.body["series"].count)
        return event

    def _maybe_fail(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


class Recording:
    def __init__(self) -> None:
        self.sink = Sink()
        self.broadcaster = EventBroadcaster(cast("Client", self.sink))
        self.events: EventRecorder = self.broadcaster.recorder("memcached")


@asynccontextmanager
async def recording() -> AsyncIterator[Recording]:
    run = Recording()
    async with background(run.broadcaster.run()):
        yield run


def obj(name: str = "sample", **metadata: Any) -> Resource:
    meta = ObjectMeta(name=name, namespace="ns", uid="u1", resource_version="7", **metadata)
    return Resource(api_version="cache.example.com/v1", kind="Memcached", metadata=meta)


async def test_an_event_says_what_happened_to_which_object() -> None:
    async with recording() as run:
        run.events.normal(obj(), "Synced", "all is well", action="Sync", related=obj("other"))
        await run.broadcaster.flush()
    (event,) = run.sink.created
    assert (event.type, event.reason, event.note, event.action) == ("Normal", "Synced", "all is well", "Sync")
    assert event.reporting_controller == "memcached" and event.reporting_instance
    assert event.regarding is not None and event.related is not None
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Memcached", "sample", "u1")
    assert event.related.name == "other"
    assert event.metadata.namespace == "ns" and event.metadata.name.startswith("sample.")
    assert event.event_time is not None


async def test_objects_without_namespace_and_dictionaries() -> None:
    async with recording() as run:
        run.events.warning({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, "Gone", "away")
        await run.broadcaster.flush()
    (event,) = run.sink.created
    assert (event.metadata.namespace, event.action) == ("default", "Gone")


async def test_the_same_again_is_a_series_that_is_sent_at_its_second_and_its_end() -> None:
    async with recording() as run:
        for _ in range(20):
            run.events.normal(obj(), "Synced", "all is well")
            await asyncio.sleep(1)
        assert (len(run.sink.created), run.sink.counts) == (1, [2])
        await asyncio.sleep(1000)
        assert run.sink.counts == [2, 20]
        run.events.normal(obj(), "Synced", "all is well")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 2, "after a long silence it is news again"


async def test_a_long_series_has_a_heartbeat() -> None:
    async with recording() as run:
        for _ in range(130):
            run.events.normal(obj(), "Synced", "all is well")
            await asyncio.sleep(60)
        assert len(run.sink.created) == 1
        assert 4 <= len(run.sink.counts) <= 6


async def test_a_series_whose_event_is_gone_is_made_again() -> None:
    async with recording() as run:
        run.events.normal(obj(), "Synced", "all is well")
        await run.broadcaster.flush()
        run.sink.errors.append(NotFound("events live for an hour"))
        run.events.normal(obj(), "Synced", "all is well")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 2
        assert run.sink.created[1].series is not None and run.sink.created[1].series.count == 2


async def test_a_flood_of_different_events_is_held_back_but_other_objects_are_heard() -> None:
    async with recording() as run:
        for number in range(100):
            run.events.normal(obj(), "Synced", f"attempt {number}")
        run.events.normal(obj("other"), "Synced", "fine")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 26
        assert run.broadcaster.dropped == 75
        await asyncio.sleep(600)
        for number in range(10):
            run.events.normal(obj(), "Synced", f"later {number}")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 28, "one every five minutes"


async def test_recording_never_waits_for_the_server() -> None:
    run = Recording()
    for number in range(5000):
        run.events.normal(obj(str(number)), "Synced", "fine")
    assert run.broadcaster.dropped == 4000


async def test_an_outage_delays_events_and_a_refusal_drops_them(caplog: pytest.LogCaptureFixture) -> None:
    async with recording() as run:
        run.sink.errors += [ConnectionFailed("refused")] * 3
        run.events.normal(obj(), "Synced", "fine")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 1
        run.sink.errors.append(Forbidden("namespace is being terminated"))
        run.events.normal(obj(), "Deleted", "fine")
        await run.broadcaster.flush()
        assert len(run.sink.created) == 1
        assert "An event was refused: namespace is being terminated" in caplog.text


async def test_threads_may_record() -> None:
    async with recording() as run:
        await asyncio.sleep(0)
        await asyncio.to_thread(run.events.normal, obj(), "Synced", "from a thread")
        await asyncio.sleep(0)
        await run.broadcaster.flush()
    assert run.sink.created[0].note == "from a thread"


async def test_texts_that_are_too_long_are_cut() -> None:
    async with recording() as run:
        run.events.normal(obj(), "R" * 200, "ä" * 2000)
        await run.broadcaster.flush()
    (event,) = run.sink.created
    assert len((event.note or "").encode()) <= 1024 and (event.note or "").endswith("...")
    assert len(event.reason or "") == 128
