"""The reflector against a scripted server that does everything that servers do to watches."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from kapstan.client.shapes import RawList
from kapstan.client.watch import RawWatch
from kapstan.machinery.codec import decode
from kapstan.machinery.errors import APIError, BadRequest, ConnectionFailed, Expired, Forbidden, Gone, Invalid, NotFound
from kapstan.runtime.deltaqueue import DeltaQueue, Replaced
from kapstan.runtime.reflector import Reflector

HANG = object()  # the stream stays open and says nothing


def obj(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}


def event(type: str, name: str, version: int) -> bytes:
    return json.dumps({"type": type, "object": obj(name, version)}).encode()


def bookmark(version: int, *, end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode()


def failure(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "too old"}
    return json.dumps({"type": "ERROR", "object": status}).encode()


class Server:
    """Answers requests from a script; each request is noted. When the script is over, streams hang."""

    what = "Widgets"
    namespace = ""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []
        self.times: list[float] = []

    def answer(self, request: str) -> Any:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        answer = self.answers.pop(0) if self.answers else [HANG]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def list(self, *, limit: int, continue_token: str) -> RawList:
        return decode(json.dumps(self.answer(f"list {limit} {continue_token}".strip())).encode(), RawList)

    def watch(self, *, resource_version: str, initial_events: bool, timeout: float) -> RawWatch:
        assert 300 <= timeout <= 600

        async def open() -> Any:
            return Lines(self.answer("stream" if initial_events else f"watch {resource_version}"))

        return RawWatch(open, "watch Widgets")


class Lines:
    """The body of an answer, line by line."""

    def __init__(self, lines: list[Any]) -> None:
        self._lines = list(lines)

    async def line(self) -> bytes | None:
        line = self._lines.pop(0) if self._lines else None
        if isinstance(line, Exception):
            raise line
        if line is HANG:
            await asyncio.Event().wait()
        return cast("bytes | None", line)

    async def close(self) -> None:
        self._lines.clear()


def page(version: int, *items: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}


class Running:
    """A running reflector, and what it has put into its queue."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.queue = DeltaQueue()
        self.reflector = Reflector(server, self.queue)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(3600):
            while not condition():  # noqa: ASYNC110 - time is skipped here
                await asyncio.sleep(0.1)

    async def told(self) -> list[str]:
        story = []
        while len(self.queue):
            for one in await self.queue.take():
                if isinstance(one, Replaced):
                    story.append(f"all {','.join(sorted(key.name for key in one.seen))}@{one.resource_version}")
                else:
                    sign = "-" if one.gone else "*" if one.initial else "+"
                    story.append(f"{sign}{one.snapshot.name}{one.snapshot.resource_version}")
        return story


@asynccontextmanager
async def running(server: Server, requests: int) -> AsyncIterator[Running]:
    """Run until the server has had that many requests and the rest is silence."""
    run = Running(server)
    task = asyncio.ensure_future(run.reflector.run())
    await run.until(lambda: len(server.requests) >= requests or task.done())
    await asyncio.sleep(0.1)
    assert not task.done(), task.exception()
    yield run
    task.cancel()


STREAMED = [event("ADDED", "a", 1), event("ADDED", "b", 3), bookmark(7, end=True)]


async def test_the_initial_state_is_streamed_and_the_same_stream_goes_on() -> None:
    server = Server([*STREAMED, event("MODIFIED", "a", 8), event("DELETED", "b", 9), HANG])
    async with running(server, 1) as run:
        assert await run.told() == ["*a1", "*b3", "all a,b@7", "+a8", "-b9"]
        assert run.reflector.resource_version == "9"
        assert run.reflector.state == "watching" and run.reflector.healthy
    assert server.requests == ["stream"]


@pytest.mark.parametrize("refusal", [BadRequest("no"), Invalid("sendInitialEvents is forbidden")])
async def test_a_server_that_cannot_stream_is_listed_in_pages(refusal: APIError) -> None:
    server = Server(refusal, page(7, obj("a", 1), more="t"), page(7, obj("b", 3)), [event("ADDED", "c", 8), HANG])
    async with running(server, 4) as run:
        assert await run.told() == ["*a1", "*b3", "all a,b@7", "+c8"]
    assert server.requests == ["stream", "list 500", "list 500 t", "watch 7"]


async def test_a_server_that_ignores_the_wish_to_stream_is_listed_after_a_while() -> None:
    """It sends what is there, but never says that this was all."""
    server = Server([event("ADDED", "a", 1), HANG], page(7, obj("a", 1)))
    async with running(server, 3) as run:
        assert (await run.told())[-1] == "all a@7"
    assert server.requests == ["stream", "list 500", "watch 7"]


async def test_a_list_that_expires_halfway_is_read_in_one_go() -> None:
    server = Server(Invalid("no"), page(7, obj("a", 1), more="t"), Expired("token"), page(9, obj("a", 1), obj("b", 8)))
    async with running(server, 5) as run:
        assert (await run.told())[-1] == "all a,b@9"
    assert server.requests[1:] == ["list 500", "list 500 t", "list 0", "watch 9"]


async def test_an_empty_list_may_be_null() -> None:
    server = Server(Invalid("no"), {"metadata": {"resourceVersion": "7"}, "items": None})
    async with running(server, 3) as run:
        assert await run.told() == ["all @7"]


async def test_a_watch_that_the_server_ends_goes_on_where_it_was() -> None:
    server = Server([*STREAMED, bookmark(20)], [event("ADDED", "c", 25)])
    async with running(server, 3) as run:
        assert await run.told() == ["*a1", "*b3", "all a,b@7", "+c25"]
    assert server.requests == ["stream", "watch 20", "watch 25"]


async def test_a_cut_connection_is_replaced_after_a_moment() -> None:
    server = Server([*STREAMED, ConnectionFailed("reset")])
    async with running(server, 2) as run:
        assert run.reflector.healthy
        assert 0.8 <= server.times[1] - server.times[0] <= 1.7
    assert server.requests == ["stream", "watch 7"]


async def test_a_cut_connection_is_worth_a_warning_if_there_is_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Server([*STREAMED, ConnectionFailed("reset")]), 2):
        assert caplog.messages == []
    async with running(Server([*STREAMED, ConnectionFailed("reset")], ConnectionFailed("refused")), 3):
        assert [message.rpartition(": ")[2] for message in caplog.messages] == ["refused"]


async def test_failures_back_off_and_success_forgets_them() -> None:
    down = [ConnectionFailed("refused")] * 8
    server = Server(STREAMED, *down, [bookmark(30), ConnectionFailed("reset")])
    async with running(server, 11):
        pass
    gaps = [after - before for before, after in zip(server.times[1:], server.times[2:], strict=False)]
    assert gaps[0] < 2 < gaps[3] < gaps[5] <= 60
    assert max(gaps) <= 60
    assert gaps[-1] < 2, "after a success the first wait is short again"


async def test_an_expired_version_makes_it_list_again_and_tells_what_vanished() -> None:
    server = Server([*STREAMED, failure(410, "Expired")], [event("ADDED", "b", 3), bookmark(40, end=True), HANG])
    async with running(server, 2) as run:
        assert await run.told() == ["*a1", "*b3", "all a,b@7", "+b3", "all b@40"]
        assert run.reflector.resource_version == "40"
    assert server.requests == ["stream", "stream"]


async def test_an_expired_version_in_the_answer_is_the_same() -> None:
    server = Server(STREAMED, Gone("too old"), [bookmark(40, end=True), HANG])
    async with running(server, 3):
        pass
    assert server.requests == ["stream", "watch 7", "stream"]


async def test_a_server_that_stops_sending_is_noticed() -> None:
    server = Server([*STREAMED, HANG], [event("ADDED", "c", 9), HANG])
    async with running(server, 2) as run:
        assert 90 <= server.times[1] - server.times[0] <= 120
        assert (await run.told())[-1] == "+c9"
    assert server.requests == ["stream", "watch 7"]


async def test_an_outage_makes_it_unhealthy_only_after_a_while() -> None:
    server = Server(STREAMED, *[ConnectionFailed("refused")] * 50)
    async with running(server, 2) as run:
        at_first = run.reflector.healthy
        await asyncio.sleep(120)
        assert (at_first, run.reflector.healthy) == (True, False)
        assert str(run.reflector.error) == "refused"


async def test_an_outage_is_over_when_a_watch_is_accepted_even_if_nothing_happens() -> None:
    server = Server(STREAMED, *[ConnectionFailed("refused")] * 8, [HANG])
    async with running(server, 9) as run:
        during = run.reflector.healthy
        await run.until(lambda: len(server.requests) == 10)
        await asyncio.sleep(1)
        assert (during, run.reflector.healthy, run.reflector.error) == (False, True, None)


async def test_it_is_not_healthy_before_it_is_synced() -> None:
    async with running(Server([event("ADDED", "a", 1), HANG]), 1) as run:
        assert not run.reflector.healthy and run.reflector.state == "syncing"


async def test_a_kind_that_is_not_served_is_waited_for_quietly(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(*[NotFound("no such page")] * 6, [*STREAMED, HANG])
    with caplog.at_level(logging.INFO):
        async with running(server, 6) as run:
            assert run.reflector.state == "absent" and run.reflector.healthy
            await run.until(lambda: run.reflector.state == "watching")
            assert (await run.told())[-1] == "all a,b@7"
    assert caplog.text.count("Waiting for Widgets") == 1


async def test_a_kind_that_goes_away_takes_its_objects_with_it() -> None:
    server = Server(STREAMED, *[NotFound("no such page")] * 3)
    async with running(server, 3) as run:
        assert await run.told() == ["*a1", "*b3", "all a,b@7", "all @7"]


async def test_what_is_forbidden_is_tried_again_and_said(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(Forbidden("widgets is forbidden: User x cannot list"), [*STREAMED, HANG])
    async with running(server, 2) as run:
        assert run.reflector.healthy
    assert "Watching Widgets failed" in caplog.text and "User x cannot list" in caplog.text


async def test_watches_that_end_at_once_are_not_repeated_in_a_tight_loop() -> None:
    server = Server(STREAMED, [], [], [])
    async with running(server, 4):
        assert server.times[3] - server.times[1] > 1.5


async def test_an_object_that_is_none_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    broken = b'{"type":"ADDED","object":{"metadata":{}}}'
    async with running(Server([event("ADDED", "a", 1), broken, bookmark(7, end=True), HANG]), 1) as run:
        assert await run.told() == ["*a1", "all a@7"]
    assert "an object was skipped" in caplog.text


async def test_a_broken_line_ends_the_stream_not_the_reflector() -> None:
    server = Server([*STREAMED, b'{"type":"ADDED","obj'], [HANG])
    async with running(server, 2):
        pass
    assert server.requests == ["stream", "watch 7"]
