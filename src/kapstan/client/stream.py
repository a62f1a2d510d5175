"""Stream: an answer that goes on, line by line, until either side ends it."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from pyreqwest.exceptions import PyreqwestError

from kapstan.client.cancellation import heeding
from kapstan.client.failures import explain
from kapstan.client.splitting import Lines, Splitter
from kapstan.machinery.errors import ConnectionFailed

__all__ = ("Stream",)


class Stream:
    """The lines of an answer. A read that is cancelled loses nothing: the next one goes on where it was."""

    def __init__(
        self,
        read: Callable[[], Awaitable[bytes | None]],
        end: Callable[[], Awaitable[None]],
        *,
        release: Callable[[], None],
        what: str,
        server: str,
    ) -> None:
        """`read` gives more bytes, or None when there are no more; `end` is called once to end it from our side."""
        self.split: Splitter = Lines()  # what counts as a line; to be changed before the first one is read
        self._next = read
        self._finish = end
        self._what = what
        self._server = server
        self._lines: deque[bytes] = deque()
        self._ended = False
        self._waiting: asyncio.Task[Any] | None = None  # whoever waits for more
        self._woken = False
        self._release = weakref.finalize(self, release)  # also if nobody closes it

    async def line(self) -> bytes | None:
        """The next line, without its end; None when there are no more. ConnectionFailed if the connection is lost."""
        while not self._lines:
            if self._ended:
                return None
            try:
                await self._read()
            except PyreqwestError as error:
                why = explain(error, timeout=None).why
                await self.close()
                raise ConnectionFailed(f"{self._what}: the stream from {self._server} broke: {why}") from None
        return self._lines.popleft()

    async def close(self) -> None:
        """End it, from our side. Whoever waits for a line gets None."""
        if not self._release.alive:
            return
        self._release()
        self._ended = True
        if self._waiting is not None:  # the library cannot end what is being read
            self._woken = True
            self._waiting.cancel()
        with heeding():
            await self._finish()

    async def _read(self) -> None:
        """Read on; what has come is kept even if the task is cancelled in this moment."""
        task = self._waiting = asyncio.current_task()
        assert task is not None
        asked = task.cancelling()
        try:
            with heeding():
                self._keep(await self._next())
        except asyncio.CancelledError:
            if not self._woken or task.uncancel() > asked:  # not only by our own `close`
                raise
        finally:
            self._waiting = None
        if self._ended:
            await self.close()

    def _keep(self, chunk: bytes | None) -> None:
        if chunk is not None:
            self._lines.extend(self.split.feed(chunk))
            return
        self._ended = True
        if last := self.split.rest():
            self._lines.append(last)
