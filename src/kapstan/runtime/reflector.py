"""Reflector: keeps a delta queue fed with everything that happens to the objects of one kind, for ever.

It streams the initial state where the server can (WatchList) and pages it where it cannot, then watches from there.
It survives whatever ends a watch: the server's time limit, a restart, a cut connection, a resourceVersion that has
expired (then it lists again, and says which objects vanished meanwhile), and a server that goes silent: bookmarks
come once a minute, so a stream with nothing on it for longer than that is dead, and is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from kapstan.client.errors import NoKindMatch
from kapstan.client.shapes import RawEvent, RawList
from kapstan.machinery.errors import BadRequest, Gone, Invalid, KapstanError, NotFound
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.backoff import Backoff
from kapstan.runtime.deltaqueue import Delta, DeltaQueue, Replaced
from kapstan.runtime.silence import SilenceLimit
from kapstan.runtime.snapshot import Malformed, Snapshot

__all__ = ("Events", "ListWatch", "Reflector", "ReflectorState")

log = logging.getLogger(__name__)

PAGE = 500
WATCH_SECONDS = (300, 600)  # the server ends a watch after a while, at random within this, as client-go asks it to
SILENCE = 90.0  # bookmarks come about once a minute
INITIAL_SILENCE = 30.0  # a server that ignores sendInitialEvents never says that they are over
OUTAGE = 30.0  # an outage shorter than this is no reason to count as unhealthy
SHORT_WATCH = 1.0  # a watch that ends sooner, without a word, counts as failed

# absent: the server does not serve the kind (yet).
ReflectorState: TypeAlias = Literal["starting", "absent", "syncing", "watching", "failing"]


class Events(Protocol):
    """A stream of events that is open while it is entered."""

    def __aiter__(self) -> AsyncIterator[RawEvent]: ...

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class ListWatch(Protocol):
    """How to list and watch one kind in one scope, as bytes."""

    @property
    def what(self) -> str:
        """What is listed, for people: `Pods in namespace default`."""

    @property
    def namespace(self) -> str: ...

    async def list(self, *, limit: int, continue_token: str) -> RawList:
        """One page of the latest state."""

    def watch(self, *, resource_version: str, initial_events: bool, timeout: float) -> Events:
        """What happens after that version; with `initial_events` first what is there now. Errors are raised."""


class Reflector:
    """Lists and watches into a queue. `run` never returns and never raises for anything that a server can do."""

    def __init__(
        self,
        list_watch: ListWatch,
        queue: DeltaQueue,
        read: Callable[[bytes], Snapshot] = Snapshot.of,
        on_absent: Callable[[], None] = lambda: None,
    ) -> None:
        self.resource_version = ""  # how far it has seen; empty: nothing, or no longer known to the server
        self.state: ReflectorState = "starting"
        self.error: KapstanError | None = None  # why it fails, while it does
        self._list_watch, self._queue, self._read, self._on_absent = list_watch, queue, read, on_absent
        self._streams = True  # until the server says that it cannot stream the initial state
        self._synced = False
        self._lost_at: float | None = None
        self._failures = Backoff()
        self._absences = Backoff(0.25, 5)

    @property
    def healthy(self) -> bool:
        """Whether what was seen is current: it watches, or has not for only a moment. An absent kind is no illness."""
        if self.state == "absent":
            return True
        return self._synced and (self._lost_at is None or _now() - self._lost_at < OUTAGE)

    async def run(self) -> None:
        while True:
            try:
                await self._next_step()
            except (NotFound, NoKindMatch):
                await self._wait_for_kind()
            except Gone:
                log.info("Listing %s again: the server no longer knows version %s", self._what, self.resource_version)
                self.resource_version = ""
                await self._pause_if_repeated()
            except TimeoutError:
                self._lost()
                log.warning("Watching %s again: the server has been silent for %g s", self._what, SILENCE)
            except KapstanError as error:
                await self._fail(error)

    async def _next_step(self) -> None:
        if self.resource_version:
            await self._watch(initial=False)
        elif self._streams:
            await self._stream_initial_state()
        else:
            await self._list()

    # --- The initial state ------------------------------------------------------------------------------------------

    async def _stream_initial_state(self) -> None:
        self._begin_sync()
        try:
            await self._watch(initial=True)
        except (BadRequest, Invalid) as error:
            if self.resource_version:
                raise
            log.debug("Listing %s in pages, for the server cannot stream: %s", self._what, error)
            self._streams = False
        except TimeoutError:
            if self.resource_version:
                raise
            log.warning("Listing %s in pages, for the server does not say when its stream is complete", self._what)
            self._streams = False

    async def _list(self) -> None:
        self._begin_sync()
        seen: set[ObjectKey] = set()
        limit, token = PAGE, ""
        while True:
            try:
                page = await self._list_watch.list(limit=limit, continue_token=token)
            except Gone:
                if not token:
                    raise
                limit, token = 0, ""  # the rest of the list has expired: ask for all of it at once
                continue
            for item in page.items:
                self._present(item, seen)
                await self._queue.room()
            token = page.metadata.continue_
            if not token:
                self._complete(seen, page.metadata.resource_version)
                return

    def _begin_sync(self) -> None:
        if self.state != "absent":  # that is known to be over only when something is heard
            self.state = "syncing"

    def _complete(self, seen: set[ObjectKey], resource_version: str) -> None:
        self._queue.put(Replaced(self._list_watch.namespace, seen, resource_version))
        self.resource_version = resource_version
        self._synced = True
        self._heard()

    # --- The changes ------------------------------------------------------------------------------------------------

    async def _watch(self, *, initial: bool) -> None:
        """Follow one stream until it ends. With `initial` it begins with everything that is there."""
        seen: set[ObjectKey] | None = set() if initial else None
        began, heard = _now(), False
        events = self._list_watch.watch(
            resource_version=self.resource_version,
            initial_events=initial,
            timeout=random.uniform(*WATCH_SECONDS),  # noqa: S311
        )
        async with SilenceLimit(INITIAL_SILENCE if initial else SILENCE) as limit, events:
            self._in_contact()  # there may be nothing to tell for a while
            async for event in events:
                limit.heard()
                if not heard:
                    heard = True
                    self._heard()
                seen = self._event(event, seen)
                if seen is None:
                    limit.seconds = SILENCE
                await self._queue.room()
        if not heard and _now() - began < SHORT_WATCH:
            raise KapstanError("the server ended the watch at once")

    def _event(self, event: RawEvent, seen: set[ObjectKey] | None) -> set[ObjectKey] | None:
        """Pass one event on. `seen` is what the initial state has had so far, None once it is complete."""
        match event.type:
            case "ADDED" | "MODIFIED":
                self._present(event.object, seen)
            case "DELETED":
                self._gone(event.object, seen)
            case "BOOKMARK":
                bookmark = _decode_bookmark(event.object).metadata
                if seen is None:
                    self.resource_version = bookmark.resource_version
                elif (bookmark.annotations or {}).get("k8s.io/initial-events-end") == "true":
                    self._complete(seen, bookmark.resource_version)
                    return None
            case unknown:
                log.warning("Watching %s: an event of the unknown type %s was skipped", self._what, unknown)
        return seen

    def _present(self, raw: Raw, seen: set[ObjectKey] | None) -> None:
        snapshot = self._snapshot(raw)
        if snapshot is None:
            return
        self._queue.put(Delta(snapshot, initial=not self._synced))
        if seen is None:
            self.resource_version = snapshot.resource_version
        else:
            seen.add(snapshot.key)

    def _gone(self, raw: Raw, seen: set[ObjectKey] | None) -> None:
        snapshot = self._snapshot(raw)
        if snapshot is None:
            return
        self._queue.put(Delta(snapshot, gone=True))
        if seen is None:
            self.resource_version = snapshot.resource_version
        else:
            seen.discard(snapshot.key)

    def _snapshot(self, raw: Raw) -> Snapshot | None:
        try:
            return self._read(bytes(raw))
        except Malformed as error:
            log.error("Watching %s: an object was skipped: %s", self._what, error)  # noqa: TRY400 - no trace of ours
            return None

    # --- Failures ---------------------------------------------------------------------------------------------------

    async def _fail(self, error: KapstanError) -> None:
        self._lost()
        # Connections end: what is worth a warning is that the next one is not to be had either.
        level = logging.INFO if self.state == "watching" else logging.WARNING
        self.state, self.error = "failing", error
        wait = self._failures.next()
        log.log(level, "Watching %s failed, trying again in %.1f s: %s", self._what, wait, error)
        await asyncio.sleep(wait)

    async def _wait_for_kind(self) -> None:
        """The server has no such kind: look again now and then. What was known of it is gone with it."""
        if self.state != "absent":
            log.info("Waiting for %s: the API server does not serve that kind (is its CRD installed?)", self._what)
            self.state = "absent"
            self._on_absent()
            if self._synced:
                self._queue.put(Replaced(self._list_watch.namespace, frozenset(), self.resource_version))
        self.resource_version = ""
        await asyncio.sleep(self._absences.next())

    async def _pause_if_repeated(self) -> None:
        """A list that expires as soon as it was read must not be read in a tight loop."""
        if self.state == "syncing":
            await asyncio.sleep(self._failures.next())

    def _in_contact(self) -> None:
        self._lost_at, self.error = None, None
        self.state = "watching" if self.resource_version else "syncing"

    def _heard(self) -> None:
        self._in_contact()
        self._failures.reset()
        self._absences.reset()

    def _lost(self) -> None:
        if self._lost_at is None:
            self._lost_at = _now()

    @property
    def _what(self) -> str:
        return self._list_watch.what


class _BookmarkMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct):
    metadata: _BookmarkMeta


_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode


def _now() -> float:
    return asyncio.get_running_loop().time()
