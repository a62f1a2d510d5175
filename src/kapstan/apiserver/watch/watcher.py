"""Watcher: one client's view of the events of a kind, from a revision on.

Events reach it synchronously when they are committed and go out in one write per turn of the event loop. A client that
does not take them makes them wait here, where they are the ones that the history has, not copies: however many clients
dawdle, they cost a few buffers each. One that is so far behind that the history has forgotten what it waits for is cut
off, and comes back with the last revision it has seen. No watcher can hold up a write or another watcher.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import decode, encode, prepare_views, ready_view, views
from kapstan.apiserver.registry.representation import Representation
from kapstan.apiserver.registry.selection import Selection
from kapstan.apiserver.storage.interface import Event, EventType, Record, Storage

__all__ = ("INITIAL_EVENTS_END", "Sink", "Watcher")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_CHUNK = 256  # initial objects that are converted together
_PIECE = 64 << 10  # bytes that are sent without asking whether the client can take them
_PATIENCE = 30.0  # seconds after which one that takes nothing is looked at


class Sink(Protocol):
    """Where a watcher's frames go."""

    @property
    def ready(self) -> bool:
        """Whether the client has taken enough of what it got before."""

    def write(self, data: bytes) -> None:
        """Send a little at once."""

    async def send(self, data: bytes) -> None:
        """Send as much as there is, as fast as the client takes it; return when it is ready for more."""

    def abort(self) -> None:
        """Be done with a client that takes nothing."""


class Watcher:
    """Sends events of one kind to one sink."""

    def __init__(
        self, kind: ServedKind, storage: Storage, selection: Selection, representation: Representation, sink: Sink
    ) -> None:
        self._kind = kind
        self._storage = storage
        self._selection = selection
        self._representation = representation
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        # What the client sees happen; None where that cannot be told before objects have been converted.
        self._waiting: deque[tuple[EventType | None, Event]] = deque()
        self._live = False  # initial objects have been sent; from now on events go out as they come
        self._scheduled = False
        self._first = True
        self._minimum = 0
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.stalled: asyncio.Future[None] = self._loop.create_future()  # `go_live` must be awaited again
        self._unobserve = storage.observe(self._observe, kind.storage.group_resource)

    def close(self) -> None:
        """Stop watching, and let whoever waits for the end know."""
        self._unobserve()
        self._waiting.clear()
        if not self.ended.done():
            self.ended.set_result(None)

    # Before it is live ------------------------------------------------------------------------------------------------

    def replay(self, events: Sequence[Event], after: int) -> None:
        """Queue what was committed since the client's last revision; nothing older will be sent."""
        self._minimum = after
        for event in events:
            self._observe(event)

    async def send_initial(self, records: Sequence[Record]) -> None:
        """Send the present objects as if they had just been created."""
        for start in range(0, len(records), _CHUNK):
            values = await views(self._kind, records[start : start + _CHUNK])
            frames = (_frame("ADDED", self._transformed(value)) for value in values)
            for piece in _pieces(frames):
                await self._send(piece)
                if self.ended.done():
                    return

    def send_bookmark(self, *, initial_events_end: bool = False) -> None:
        """Tell the client how far it is, though nothing happened that concerns it."""
        metadata: dict[str, object] = {"resourceVersion": str(max(self._storage.revision, self._minimum))}
        if initial_events_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        gvk = self._kind.gvk
        value = encode({"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata})
        self._sink.write(_frame("BOOKMARK", self._transformed(value)))

    async def go_live(self) -> None:
        """Send what waits, and from now on everything as it comes."""
        if self.stalled.done():
            self.stalled = self._loop.create_future()
        while self._waiting and not self.ended.done():
            await self._convert_waiting()
            if piece := self._next_piece():
                await self._send(piece)
        self._live = True

    @property
    def live(self) -> bool:
        """Whether the client has everything that happened."""
        return self._live and not self._waiting and not self.ended.done()  # what waited at the end, it has not

    # Live -------------------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if event.record.revision <= self._minimum:
            return
        type = None
        if self._can_tell(event):
            type = self._seen_as(event)
            if type is None:
                return
        self._waiting.append((type, event))
        if not self._live:
            self._cut_off_if_lost()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _can_tell(self, event: Event) -> bool:
        selection = self._selection
        if not selection.by_content:
            return True
        return selection.can_tell(event.record) and (event.previous is None or selection.can_tell(event.previous))

    def _seen_as(self, event: Event) -> EventType | None:
        """What happened from the client's point of view: an object that leaves its selection is gone for it."""
        selection = self._selection
        if selection.trivial and not selection.prefix:
            return event.type
        before = event.previous is not None and selection.matches(event.previous)
        if event.type == "DELETED":
            return "DELETED" if before else None
        after = selection.matches(event.record)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def _flush(self) -> None:
        """Send what waits in one piece; what is more than that, or meets a client that is not ready, must wait."""
        self._scheduled = False
        if not self._waiting or not self._live or self.ended.done():
            return
        if self._sink.ready and (piece := self._next_piece(_PIECE)):
            self._sink.write(piece)
        if self._waiting:
            self._stall()

    def _next_piece(self, largest: int = 0) -> bytes:
        """Frames that go out together; alone, a frame may be as large as it likes, unless `largest` says otherwise."""
        frames: list[bytes] = []
        size = 0
        while self._waiting:
            type, event = self._waiting[0]
            if type is None and self._can_tell(event):
                type = self._seen_as(event)
                if type is None:
                    self._waiting.popleft()
                    continue
            frame = self._event_frame(type, event) if type is not None else None
            if frame is None or (size + len(frame) > _PIECE and (frames or largest)):
                break
            frames.append(frame)
            size += len(frame)
            self._waiting.popleft()
            self._first = False
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def _event_frame(self, type: EventType, event: Event) -> bytes | None:
        """The frame, made once for all watchers that want it so; None if the object must be converted first."""
        left = type == "DELETED" and event.type != "DELETED"
        key = (self._kind, type, left, self._representation.event_key(first=self._first))
        frame = event.frames.get(key)
        if frame is None:
            value = ready_view(self._kind, event.previous if left and event.previous is not None else event.record)
            if value is None:
                return None
            if left:
                value = _at_revision(value, event.revision)
            frame = _frame(type, self._representation.event_object(self._kind, value, first=self._first))
            if self._live:  # who is late is late alone
                if not event.frames:  # all who are not have sent it before the loop's next turn
                    self._loop.call_soon(event.frames.clear)
                event.frames[key] = frame
        return frame

    def _transformed(self, value: bytes) -> bytes:
        found = self._representation.event_object(self._kind, value, first=self._first)
        self._first = False
        return found

    # Where clients are late, and objects must be converted before they can be sent ------------------------------------

    def _stall(self) -> None:
        """Only waiting helps, which nobody can do here: whoever keeps the watch alive calls `go_live` again."""
        self._live = False
        if not self.stalled.done():
            self.stalled.set_result(None)

    async def _send(self, data: bytes) -> None:
        """At the client's pace, but only as long as what it waits for is remembered."""
        if self._sink.ready and len(data) <= _PIECE:
            self._sink.write(data)
            return
        sending = asyncio.ensure_future(self._sink.send(data))
        try:
            while not (await asyncio.wait((sending,), timeout=_PATIENCE))[0]:
                self._cut_off_if_lost()
            await sending
        finally:
            sending.cancel()

    def _cut_off_if_lost(self) -> None:
        if self._waiting and self._waiting[0][1].revision <= self._storage.oldest_revision:
            self.close()
            self._sink.abort()

    async def _convert_waiting(self) -> None:
        while True:
            needed = [record for _, event in self._waiting for record in (event.record, event.previous) if record]
            missing = [record for record in needed if ready_view(self._kind, record) is None]
            if not missing:
                return
            await prepare_views(self._kind, missing)


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Frames that go out together."""
    waiting: list[bytes] = []
    size = 0
    for frame in frames:
        waiting.append(frame)
        size += len(frame)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting.clear()
            size = 0
    if waiting:
        yield b"".join(waiting)


def _frame(type: str, value: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type.encode(), value)


def _at_revision(value: bytes, revision: int) -> bytes:
    """An object that left the selection: as it was while it was in it, at the revision at which it left."""
    obj = decode(value)
    obj["metadata"]["resourceVersion"] = str(revision)
    return encode(obj)
