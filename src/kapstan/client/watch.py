"""Watches: what happens to objects, as it happens, until either side ends it.

    async with client.watch(Pod, "default") as events:
        async for event in events:
            ...

A watch ends when the server's time for it is over, as every watch does now and then; whoever wants to go on starts a
new one from `resource_version`. An error of the server is raised: Expired means that one has to list anew. A watch
that is cancelled while it waits loses nothing. It never times out by itself: to notice a server that has gone silent,
ask for bookmarks and give each event `asyncio.timeout`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import msgspec
from msgspec import Struct, field

from kapstan.client.errors import UnexpectedAnswer
from kapstan.client.interface import PartialObjectMetadata, WatchEvent, WatchEventType
from kapstan.client.shapes import RawEvent, Shape
from kapstan.client.splitting import Documents
from kapstan.client.stream import Stream
from kapstan.machinery.codec import decode
from kapstan.machinery.errors import from_status
from kapstan.machinery.meta import Status

__all__ = ("RawWatch", "Watch")

T = TypeVar("T")

_EVENT = msgspec.json.Decoder(RawEvent)


class _Metadata(Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)


_VERSIONED = msgspec.json.Decoder(_Versioned)


class RawWatch(AsyncIterator[RawEvent]):
    """A watch whose objects are left as JSON."""

    def __init__(self, open: Callable[[], Awaitable[Stream]], what: str) -> None:
        self._open = open
        self.what = what
        self._stream: Stream | None = None
        self._closed = False

    async def __anext__(self) -> RawEvent:
        if self._stream is None:
            if self._closed:
                raise StopAsyncIteration
            await self.__aenter__()
        assert self._stream is not None
        while (line := await self._stream.line()) is not None:
            if line:
                return self._event(line)
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        """Connected: the server has accepted the watch."""
        if self._stream is None:
            self._stream = await self._open()
            self._stream.split = Documents()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch."""
        self._closed = True
        if self._stream is not None:
            await self._stream.close()

    def _event(self, line: bytes) -> RawEvent:
        try:
            event = _EVENT.decode(line)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(f"{self.what}: not an event: {error}") from None
        if event.type == "ERROR":
            raise from_status(decode(event.object, Status), self.what)
        return event


class Watch(AsyncIterator[WatchEvent[T]], Generic[T]):
    """A watch of a kind. Of a BOOKMARK, only the metadata is there: it is always a PartialObjectMetadata."""

    def __init__(self, raw: RawWatch, shape: Shape, what: str, resource_version: str = "") -> None:
        self._raw = raw
        self._shape = shape
        self._what = what
        self.resource_version = resource_version  # of the last event: where a new watch would go on

    async def __anext__(self) -> WatchEvent[T]:
        event = await anext(self._raw)
        try:
            self.resource_version = _VERSIONED.decode(event.object).metadata.resource_version or self.resource_version
            obj: Any = self._bookmark(event) if event.type == "BOOKMARK" else self._shape.one(event.object)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(f"{self._what}: what the server sent does not fit the type: {error}") from None
        return WatchEvent(cast("WatchEventType", event.type), obj)

    async def __aenter__(self) -> Self:
        await self._raw.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch."""
        await self._raw.close()

    def _bookmark(self, event: RawEvent) -> PartialObjectMetadata:
        obj = decode(event.object, PartialObjectMetadata)
        obj.api_version, obj.kind = self._shape.gvk.api_version, self._shape.gvk.kind
        return obj
