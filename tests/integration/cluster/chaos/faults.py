"""Faults between a manager and its API server: it dies before or after a write, never hears that one succeeded, or has
to do with a server that is overloaded."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import Enum, auto
from typing import Any, NoReturn, TypeAlias

from kapstan.client.stream import Stream
from kapstan.client.transport import Request, Response, Transport
from kapstan.machinery.errors import APIError, ConnectionFailed, KapstanError, ServiceUnavailable, TooManyRequests


class Fault(Enum):
    DIES_BEFORE = auto()  # the write is never sent
    DIES_AFTER = auto()  # it is carried out, but nobody is there to hear
    ANSWER_LOST = auto()  # it is carried out, and the manager believes that it was not


# Which fault a write meets, by its number in the life of the manager, from 1 on.
Plan: TypeAlias = Callable[[int, Request], Fault | None]


def never(number: int, request: Request) -> Fault | None:
    return None


class Faults:
    """Counts the writes of one manager, and lets faults happen. A dead manager asks nothing of anybody any more."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.writes = 0
        self.dead = asyncio.Event()

    def strike(self, transport: Transport) -> None:
        """From now on, requests of this transport meet their faults."""
        send = transport.send

        async def struck(request: Request) -> Response:
            if self.dead.is_set():
                await _never()
            if not _is_write(request):
                return await send(request)
            self.writes += 1
            fault = self._plan(self.writes, request)
            if fault is Fault.DIES_BEFORE:
                await self._die()
            try:
                answer = await send(request)
            except APIError:
                await self._meet(fault, request)
                raise
            await self._meet(fault, request)
            return answer

        transport.send = struck  # type: ignore[method-assign]

    async def _meet(self, fault: Fault | None, request: Request) -> None:
        """What becomes of an answer, a refusal or not."""
        if fault is Fault.DIES_AFTER or self.dead.is_set():
            await self._die()
        if fault is Fault.ANSWER_LOST:
            raise ConnectionFailed(f"{request.what}: no answer in time")

    async def _die(self) -> NoReturn:
        self.dead.set()
        await _never()


class Overload(Faults):
    """An API server that has too much to do: it refuses, does not answer, answers and is not heard, carries out a
    request long after whoever asked has given up; and what it tells watchers comes late, or the watch ends."""

    def __init__(self, seed: int, *, chance: float) -> None:
        super().__init__(never)
        self._random, self._chance = random.Random(seed), chance
        self._late: set[asyncio.Task[None]] = set()
        self.faults = 0

    def strike(self, transport: Transport) -> None:
        send, open = transport.send, transport.open

        async def struck(request: Request) -> Response:
            self.writes += _is_write(request)
            if self._random.random() >= self._chance:
                return await send(request)
            self.faults += 1
            fault = self._random.choice(("refused", "unavailable", "lost", "unheard", "late"))
            if fault == "refused":
                raise TooManyRequests(f"{request.what}: too many requests, please try again later")
            if fault == "unavailable":
                raise ServiceUnavailable(f"{request.what}: apiserver not ready")
            if fault == "unheard":
                await send(request)
            if fault == "late":
                self._send_later(send(request))
            raise ConnectionFailed(f"{request.what}: no answer in time")

        async def opened(request: Request) -> Stream:
            stream = await open(request)
            line = stream.line

            async def late() -> bytes | None:
                found = await line()
                await asyncio.sleep(self._random.random() * 0.2)
                return found if self._random.random() >= self._chance / 10 else None

            stream.line = late  # type: ignore[method-assign]
            return stream

        transport.send, transport.open = struck, opened  # type: ignore[method-assign]

    def _send_later(self, sending: Coroutine[Any, Any, Response]) -> None:
        async def send() -> None:
            await asyncio.sleep(self._random.random())
            with suppress(KapstanError):
                await sending

        task = asyncio.create_task(send())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def settle(self) -> None:
        """Let the late requests be carried out."""
        await asyncio.gather(*self._late)


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def _is_write(request: Request) -> bool:
    """Events are told, not relied on."""
    return request.method != "GET" and "/events" not in request.path
