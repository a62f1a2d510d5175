"""The status helper: what it writes, and when."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from msgspec import field

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.machinery.base import Model
from kapstan.machinery.codec import decode, encode, to_builtins
from kapstan.machinery.errors import Conflict
from kapstan.machinery.meta import Condition, ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.machinery.patch import apply_merge_patch
from kapstan.machinery.scheme import resource
from kapstan.runtime.status import StatusDraft


class Status(Model):
    ready: int = 0
    note: str | None = None
    conditions: list[Condition] = field(default_factory=list)


@resource(group="status.kapstan.dev", version="v1")
class Thing(Resource):
    status: Status = field(default_factory=Status)


@resource(group="status.kapstan.dev", version="v1", plural="maybes")
class Maybe(Resource):
    status: Status | None = None


class Server:
    """Applies merge patches as the API server does, and notes them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.patches: list[dict[str, Any]] = []
        self.error = error

    async def patch(self, obj: Resource, patch: Patch, *, subresource: str) -> Resource:
        assert subresource == "status"
        if self.error is not None:
            raise self.error
        body = decode(encode(patch.body), dict[str, Any])
        self.patches.append(body)
        patched = apply_merge_patch(to_builtins(obj), body)
        patched["metadata"]["resourceVersion"] = "8"
        return decode(encode(patched), type(obj))


def thing(cls: Any = Thing, **status: Any) -> Any:
    metadata = ObjectMeta(name="a", namespace="ns", resource_version="7", generation=4)
    return cls(metadata=metadata, status=Status(**status)) if status or cls is Thing else cls(metadata=metadata)


def draft(server: Server, obj: Any) -> StatusDraft[Any]:
    return StatusDraft(cast("Client", server), obj)


async def test_only_what_changed_is_written() -> None:
    server, obj = Server(), thing(ready=1, note="old")
    async with draft(server, obj) as status:
        status.ready = 3
        assert (status.ready, status.value.ready) == (3, 3)
    assert server.patches == [{"status": {"ready": 3}}]
    assert (obj.status.ready, obj.metadata.resource_version) == (3, "8"), "the object is as it was written"


async def test_nothing_changed_is_no_request() -> None:
    server = Server()
    async with draft(server, thing(ready=1)) as status:
        status.ready = 1
        status.note = None
    assert server.patches == []


async def test_what_is_taken_away_is_removed() -> None:
    server = Server()
    async with draft(server, thing(note="old")) as status:
        status.note = None
    assert server.patches == [{"status": {"note": None}}]


async def test_conditions_carry_the_generation_and_are_guarded_by_the_version() -> None:
    server, obj = Server(), thing()
    async with draft(server, obj) as status:
        assert status.set_condition("Ready", True, reason="Done", message="all is well")
    (patch,) = server.patches
    assert patch["metadata"] == {"resourceVersion": "7"}, "lists are replaced as a whole"
    (condition,) = patch["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["observedGeneration"]) == ("Ready", "True", 4)
    async with draft(server, obj) as status:
        assert not status.set_condition("Ready", True, reason="Done", message="all is well")
    assert len(server.patches) == 1


async def test_taking_a_list_away_is_guarded_by_the_version_too() -> None:
    server = Server()
    async with draft(server, thing(conditions=[Condition(type="Ready", status="True")])) as status:
        status.conditions = []
    assert server.patches == [{"metadata": {"resourceVersion": "7"}, "status": {"conditions": None}}]


async def test_an_empty_message_of_a_condition_is_written() -> None:
    """The API demands one."""
    server = Server()
    async with draft(server, thing()) as status:
        status.set_condition("Ready", True, reason="Done")
    assert server.patches[0]["status"]["conditions"][0]["message"] == ""


async def test_a_status_that_is_not_there_yet_is_made() -> None:
    server, obj = Server(), thing(Maybe)
    async with draft(server, obj) as status:
        status.set_condition("Ready", False, reason="Starting")
        status.ready = 1
    assert server.patches[0]["status"]["ready"] == 1
    assert obj.status is not None and obj.status.ready == 1


async def test_it_is_written_even_if_the_block_fails() -> None:
    server = Server()
    with pytest.raises(ValueError, match="the phase failed"):
        async with draft(server, thing()) as status:
            status.note = "failing"
            raise ValueError("the phase failed")
    assert server.patches == [{"status": {"note": "failing"}}]


async def test_it_is_not_written_if_the_block_is_cancelled() -> None:
    server = Server()
    with pytest.raises(asyncio.CancelledError):
        async with draft(server, thing()) as status:
            status.note = "half"
            raise asyncio.CancelledError
    assert server.patches == []


async def test_a_write_that_fails_is_raised_but_hides_no_other_error(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(Conflict("changed meanwhile"))
    with pytest.raises(Conflict):
        async with draft(server, thing()) as status:
            status.ready = 2
    with pytest.raises(ValueError, match="the phase failed"):
        async with draft(server, thing()) as status:
            status.ready = 2
            raise ValueError("the phase failed")
    assert "could not be written after an error: changed meanwhile" in caplog.text


async def test_it_can_be_written_in_between() -> None:
    server = Server()
    async with draft(server, thing()) as status:
        status.ready = 1
        await status.write()
        status.ready = 2
    assert server.patches == [{"status": {"ready": 1}}, {"status": {"ready": 2}}]


async def test_the_object_is_not_touched_before_it_is_written() -> None:
    obj = thing(ready=1)
    status = draft(Server(), obj)
    status.ready = 5
    assert obj.status.ready == 1
