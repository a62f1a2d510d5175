"""Shared informers: what listeners hear, whatever they do themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapstan.client.shapes import RawList
from kapstan.client.watch import RawWatch
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.runtime.background import background
from kapstan.runtime.informer import Informer, SharedInformer
from kapstan.runtime.scope import Scope
from kapstan.runtime.snapshot import Snapshot

KIND = GroupVersionKind("", "v1", "ConfigMap")


def obj(name: str, version: int, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", "resourceVersion": str(version), "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}}


class Server:
    """Streams what is there, then whatever is put into it."""

    what, namespace = "ConfigMaps", ""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        for one in objects:
            self.tell("ADDED", one)
        end = {"metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}
        self.tell("BOOKMARK", end)

    def tell(self, type: str, obj: dict[str, Any]) -> None:
        self.events.put_nowait(json.dumps({"type": type, "object": obj}).encode())

    async def list(self, *, limit: int, continue_token: str) -> RawList:
        raise AssertionError("nobody has to list here")

    def watch(self, *, resource_version: str, initial_events: bool, timeout: float) -> RawWatch:
        async def open() -> Any:
            return self

        return RawWatch(open, "watch ConfigMap")

    async def line(self) -> bytes:
        return await self.events.get()

    async def close(self) -> None: ...


@asynccontextmanager
async def following(server: Server, scope: Scope | None = None) -> AsyncIterator[SharedInformer]:
    shared = SharedInformer(KIND, scope=scope or Scope(resync=0))
    async with background(shared.run([server])):
        await shared.wait_synced()
        yield shared


class Ear:
    """A listener."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        sign = "*" if initial else "+" if old is None else "-" if new is None else "~"
        state = new or old
        assert state is not None
        self.heard.append(f"{sign}{state.name}{state.resource_version}")


async def settled() -> None:
    await asyncio.sleep(1)


async def test_a_listener_hears_what_is_there_and_what_comes() -> None:
    server = Server(obj("a", 1))
    async with following(server) as shared:
        ear = Ear()
        shared.listen(ear)
        server.tell("ADDED", obj("b", 2))
        server.tell("MODIFIED", obj("a", 3))
        await settled()
        server.tell("DELETED", obj("b", 4))
        await settled()
        assert ear.heard == ["*a1", "+b2", "~a3", "-b4"]
        assert [one.name for one in shared.store] == ["a"]


async def test_one_that_stops_listening_hears_no_more() -> None:
    server = Server()
    async with following(server) as shared:
        gone, stays = Ear(), Ear()
        unlisten = shared.listen(gone)
        shared.listen(stays)
        unlisten()
        server.tell("ADDED", obj("a", 2))
        await settled()
        assert (gone.heard, stays.heard) == ([], ["+a2"])


async def test_a_listener_that_raises_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    def broken(old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        raise ValueError("broken listener")

    server = Server(obj("a", 1))
    async with following(server) as shared:
        ear = Ear()
        shared.listen(broken)
        shared.listen(ear)
        server.tell("ADDED", obj("b", 2))
        await settled()
        assert ear.heard == ["*a1", "+b2"]
    assert "broken listener" in caplog.text and "ns/b" in caplog.text


async def test_everything_is_told_again_now_and_then() -> None:
    server = Server(*(obj(f"a{number}", 1) for number in range(200)))
    async with following(server, Scope(resync=1000)) as shared:
        ear = Ear()
        shared.listen(ear)
        ear.heard.clear()
        for _ in range(12):  # bookmarks keep the stream from counting as dead
            server.tell("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
            await asyncio.sleep(85)
            server.tell("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
        await asyncio.sleep(85)
        assert len(ear.heard) == 200 and set(ear.heard[0]) >= {"~"}


async def test_a_new_listener_is_told_what_others_know_not_what_we_have_written_since() -> None:
    server = Server(obj("a", 1))
    async with following(server) as shared:
        shared.wrote(json.dumps(obj("a", 5)).encode())
        ear = Ear()
        shared.listen(ear)
        server.tell("MODIFIED", obj("a", 5))
        await settled()
        assert ear.heard == ["*a1", "~a5"]


async def test_a_transform_makes_objects_smaller_and_its_failure_keeps_them(caplog: pytest.LogCaptureFixture) -> None:
    def transform(obj: dict[str, Any]) -> dict[str, Any]:
        if obj["metadata"]["name"] == "b":
            raise KeyError("no such field")
        if obj["metadata"]["name"] == "c":
            obj["metadata"]["name"] = "another"
        return {**obj, "data": {}}

    async with following(Server(obj("a", 1), obj("b", 1), obj("c", 1)), Scope(transform=transform)) as shared:
        informer: Informer[dict[str, Any]] = Informer(shared, KIND)
        found = {one["metadata"]["name"]: one["data"] for one in informer.lister().list()}
        assert found == {"a": {}, "b": {"k": "v"}, "c": {"k": "v"}}
    assert "The transform failed for ns/b" in caplog.text
    assert "The transform made ns/another of ns/c" in caplog.text


async def test_own_writes_that_leave_the_scope_are_not_read() -> None:
    server = Server(obj("a", 1, app="x"))
    async with following(server, Scope(labels="app=x")) as shared:
        shared.wrote(json.dumps(obj("a", 5, app="y")).encode())
        shared.wrote(json.dumps(obj("b", 6, app="y")).encode())
        assert shared.store.keys() == set()
        shared.wrote(json.dumps(obj("c", 7, app="x")).encode())
        assert shared.store.keys() == {ObjectKey("ns", "c")}


async def test_typed_handlers_and_indexes() -> None:
    server = Server(obj("a", 1))
    async with following(server) as shared:
        informer: Informer[dict[str, Any]] = Informer(shared, KIND)
        informer.add_index("value", lambda one: one["data"].values())
        heard: list[tuple[bool, bool]] = []
        informer.on_change(lambda old, new: heard.append((old is None, new is None)))
        changes: list[bool] = []
        informer.on(lambda change: changes.append(change.initial))
        server.tell("DELETED", obj("a", 2))
        await settled()
        assert heard == [(True, False), (False, True)]
        assert changes == [True, False]
        assert informer.lister().by_index("value", "v") == []


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        (Scope(), True),
        (Scope(namespaces=("ns", "other")), True),
        (Scope(namespaces=("other",)), False),
        (Scope(labels={"app": "x"}), True),
        (Scope(labels="app!=x"), False),
        (Scope(fields={"metadata.name": "a"}), True),
        (Scope(fields="metadata.name!=a"), False),
        (Scope(fields="data.k=v,metadata.namespace=ns"), True),
    ],
)
def test_scopes_decide_as_the_server_does(scope: Scope, inside: bool) -> None:
    assert scope.contains(Snapshot.of(json.dumps(obj("a", 1, app="x")).encode())) is inside
