"""Event recorder: tells users of an object what happened to it, as events of the cluster (`kubectl describe`).

Recording never waits and never fails: an event is put into a queue, and a task of its own sends it. The same event
again becomes a series, of which only the second occurrence, a heartbeat every half hour and the end are sent. Of
one object at most 25 different events are sent at once, then one every five minutes. What does not fit is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from kapstan.client.interface import Object, Patch
from kapstan.machinery.errors import ConnectionFailed, InternalError, KapstanError, NotFound, TooManyRequests
from kapstan.machinery.meta import MicroTime, ObjectMeta
from kapstan.runtime.ratelimiter import Bucket

if TYPE_CHECKING:
    from kapstan.client.client import Client
    from kapstan.k8s.core_v1 import ObjectReference
    from kapstan.k8s.events_v1 import Event

__all__ = ("EventBroadcaster", "EventRecorder")

EventType: TypeAlias = Literal["Normal", "Warning"]

log = logging.getLogger(__name__)

QUEUE = 1000  # events that wait to be sent
SERIES_END = 360.0  # seconds without another occurrence
HEARTBEAT = 1800.0
BURST, REFILL = 25, 1 / 300  # different events of one object
OBJECTS = 4096  # objects of which that is remembered
ATTEMPTS, RETRY = 12, 10.0
NOTE, REASON = 1024, 128  # the longest that the API server accepts


class EventRecorder:
    """Records events in the name of one controller."""

    def __init__(self, broadcaster: EventBroadcaster, controller: str) -> None:
        self._broadcaster, self._controller = broadcaster, controller

    def normal(self, obj: Object, reason: str, note: str, *, action: str = "", related: Object | None = None) -> None:
        """Something happened as it should."""
        self._broadcaster.record(self._controller, obj, "Normal", reason, note, action, related)

    def warning(self, obj: Object, reason: str, note: str, *, action: str = "", related: Object | None = None) -> None:
        """Something went wrong that the object's owner should know."""
        self._broadcaster.record(self._controller, obj, "Warning", reason, note, action, related)


class _Key(NamedTuple):
    """What makes two events the same."""

    controller: str
    regarding: tuple[str, ...]
    related: tuple[str, ...]
    type: str
    reason: str
    action: str
    note: str


class _Occurrence(NamedTuple):
    key: _Key
    event: Event


class _Series:
    """An event that was sent, and how often it has happened since."""

    __slots__ = ("count", "event", "sent_at", "sent_count", "time", "wall")

    def __init__(self, event: Event, now: float, wall: MicroTime) -> None:
        self.event, self.count, self.sent_count = event, 1, 1
        self.time = self.sent_at = now
        self.wall = wall


class EventBroadcaster:
    """Sends the events of all recorders of a process."""

    def __init__(self, client: Client) -> None:
        self.dropped = 0
        self._client = client
        self._queue: asyncio.Queue[_Occurrence] = asyncio.Queue(QUEUE)
        self._series: dict[_Key, _Series] = {}
        self._allowance: OrderedDict[tuple[str, tuple[str, ...]], Bucket] = OrderedDict()
        self._instance = socket.gethostname()
        self._loop: asyncio.AbstractEventLoop | None = None

    def recorder(self, controller: str) -> EventRecorder:
        return EventRecorder(self, controller)

    # --- Recording --------------------------------------------------------------------------------------------------

    def record(
        self, controller: str, obj: Object, type: EventType, reason: str, note: str, action: str, related: Object | None
    ) -> None:
        """Note an event; from any thread, at once."""
        event = _event(controller, self._instance, obj, type, reason, note, action or reason, related)
        occurrence = _Occurrence(_key(event), event)
        if self._loop is None or self._loop is _running_loop():
            self._put(occurrence)
        else:
            self._loop.call_soon_threadsafe(self._put, occurrence)

    def _put(self, occurrence: _Occurrence) -> None:
        try:
            self._queue.put_nowait(occurrence)
        except asyncio.QueueFull:
            self.dropped += 1

    # --- Sending ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Send events until cancelled."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_all(), name="events")
            group.create_task(self._tend_series(), name="event series")

    async def flush(self) -> None:
        """Wait until what has been recorded so far is sent or given up."""
        await self._queue.join()

    async def _send_all(self) -> None:
        while True:
            occurrence = await self._queue.get()
            try:
                await self._send(occurrence)
            except Exception:
                log.exception("An event could not be sent")
            finally:
                self._queue.task_done()

    async def _send(self, occurrence: _Occurrence) -> None:
        key, event = occurrence
        assert event.event_time is not None
        series = self._series.get(key)
        now = _now()
        if series is not None:
            series.count += 1
            series.time, series.wall = now, event.event_time
            if series.count == 2:
                await self._update(series)
            return
        if not self._is_allowed(key):
            self.dropped += 1
            return
        self._series[key] = _Series(event, now, event.event_time)
        await self._attempt(lambda: self._client.create(event))

    def _is_allowed(self, key: _Key) -> bool:
        """Whether the object still has room for another event: a broken loop must not flood the cluster."""
        source = key.controller, key.regarding
        bucket = self._allowance.pop(source, None) or Bucket(REFILL, BURST, _now)
        self._allowance[source] = bucket
        if len(self._allowance) > OBJECTS:
            self._allowance.popitem(last=False)
        return bucket.take()

    async def _tend_series(self) -> None:
        """Send the final count of series that are over, and now and then the count of those that go on."""
        while True:
            await asyncio.sleep(SERIES_END / 4)
            now = _now()
            for key, series in list(self._series.items()):
                over = now - series.time > SERIES_END
                if over:
                    del self._series[key]
                if series.count > series.sent_count and (over or now - series.sent_at > HEARTBEAT):
                    await self._update(series)

    async def _update(self, series: _Series) -> None:
        from kapstan.k8s.events_v1 import EventSeries

        event = series.event
        event.series = EventSeries(count=series.count, last_observed_time=series.wall)
        series.sent_at, series.sent_count = _now(), series.count
        patch = Patch.merge({"series": event.series})

        async def send() -> None:
            try:
                await self._client.patch(event, patch)
            except NotFound:  # events live for an hour
                await self._client.create(event)

        await self._attempt(send)

    async def _attempt(self, send: Callable[[], Awaitable[object]]) -> None:
        for attempt in range(ATTEMPTS):
            try:
                await send()
            except (ConnectionFailed, InternalError, TooManyRequests):
                if attempt < ATTEMPTS - 1:
                    await asyncio.sleep(RETRY)
                    continue
                log.warning("An event was given up after %d attempts", ATTEMPTS)
            except KapstanError as error:
                log.warning("An event was refused: %s", error)
            return


def _event(
    controller: str,
    instance: str,
    obj: Object,
    type: EventType,
    reason: str,
    note: str,
    action: str,
    related: Object | None,
) -> Event:
    from kapstan.k8s.events_v1 import Event

    regarding = _reference(obj)
    time = MicroTime.now(UTC)
    return Event(
        metadata=ObjectMeta(
            name=f"{regarding.name}.{int(time.timestamp() * 1e9):x}", namespace=regarding.namespace or "default"
        ),
        event_time=time,
        reporting_controller=controller,
        reporting_instance=f"{controller}-{instance}"[:REASON],
        action=action[:REASON],
        reason=reason[:REASON],
        regarding=regarding,
        related=None if related is None else _reference(related),
        note=_shortened(note),
        type=type,
    )


def _reference(obj: Object) -> ObjectReference:
    from kapstan.k8s.core_v1 import ObjectReference

    if isinstance(obj, dict):
        metadata = obj.get("metadata", {})
        return ObjectReference(
            api_version=obj.get("apiVersion"),
            kind=obj.get("kind"),
            name=metadata.get("name"),
            namespace=metadata.get("namespace"),
            uid=metadata.get("uid"),
            resource_version=metadata.get("resourceVersion"),
        )
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        name=obj.name,
        namespace=obj.namespace or None,
        uid=obj.uid or None,
        resource_version=obj.metadata.resource_version or None,
    )


def _key(event: Event) -> _Key:
    return _Key(
        event.reporting_controller or "",
        _identity(event.regarding),
        _identity(event.related),
        event.type or "",
        event.reason or "",
        event.action or "",
        event.note or "",
    )


def _identity(reference: ObjectReference | None) -> tuple[str, ...]:
    if reference is None:
        return ()
    parts = (reference.api_version, reference.kind, reference.namespace, reference.name, reference.uid)
    return tuple(part or "" for part in parts)


def _shortened(note: str) -> str:
    data = note.encode()
    return note if len(data) <= NOTE else data[: NOTE - 3].decode(errors="ignore") + "..."


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()
