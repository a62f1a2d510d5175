"""Faults between a manager and its API server: it dies before or after a write, or never hears that one succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import NoReturn, TypeAlias

from kapstan.client.transport import Request, Response, Transport
from kapstan.machinery.errors import ConnectionFailed


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
            answer = await send(request)
            if fault is Fault.DIES_AFTER or self.dead.is_set():
                await self._die()
            if fault is Fault.ANSWER_LOST:
                raise ConnectionFailed(f"{request.what}: no answer in time")
            return answer

        transport.send = struck  # type: ignore[method-assign]

    async def _die(self) -> NoReturn:
        self.dead.set()
        await _never()


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def _is_write(request: Request) -> bool:
    """Events are told, not relied on."""
    return request.method != "GET" and "/events" not in request.path
