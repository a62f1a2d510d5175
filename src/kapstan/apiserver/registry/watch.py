"""Watch: what a client gets to see first, what follows, and when it ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import msgspec

from kapstan.apiserver.registry.errors import revision_too_large, watch_expired
from kapstan.apiserver.registry.objects import encode
from kapstan.apiserver.registry.read import invalid_revision, parse_revision, select_records
from kapstan.apiserver.registry.representation import Representation
from kapstan.apiserver.registry.selection import Selection, select
from kapstan.apiserver.request import ListOptions, Request
from kapstan.apiserver.storage.interface import RevisionTooOld
from kapstan.apiserver.watch.watcher import Sink, Watcher
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import APIError

__all__ = ("Watch", "Watches", "error_frame", "watch")

BOOKMARK_INTERVAL = 60.0
MINIMUM_TIMEOUT = 1800.0
_BEFORE_END = 2.0  # a last bookmark goes out so long before the watch ends by itself


class Watch:
    """A watch that has been accepted: the client gets its answer from `run`, errors included."""

    def __init__(
        self, request: Request, options: ListOptions, selection: Selection, representation: Representation, since: int
    ) -> None:
        self.request = request
        self._options = options
        self._selection = selection
        self._representation = representation
        self._since = since

    async def run(self, sink: Sink) -> None:
        """Send events until the time is over, the client too slow, or the kind not served any more."""
        request = self.request
        if request.cluster.kinds.resource(request.kind.gvr) is not request.kind:
            return  # dropped, or replaced by a new definition, since the watch was accepted
        watcher = Watcher(request.kind, request.cluster.storage, self._selection, self._representation, sink)
        forget = request.cluster.watches.add(request.kind, watcher.close)
        seconds = self._options.timeout_seconds or MINIMUM_TIMEOUT * (1 + random.random())  # noqa: S311 - spreads load
        end = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(end):
                await self._begin(watcher)
                await self._keep(watcher, end)
        except TimeoutError:
            pass
        except APIError as error:
            sink.write(error_frame(error))
        finally:
            forget()
            watcher.close()

    async def _begin(self, watcher: Watcher) -> None:
        request, options = self.request, self._options
        storage, table = request.cluster.storage, request.kind.storage.group_resource
        if options.send_initial_events:
            if self._since > storage.revision:
                raise revision_too_large(self._since, storage.revision)
            listing = msgspec.structs.replace(options, resource_version="", resource_version_match="", limit=0)
            records = (await select_records(request, listing, self._selection))[0]
            await watcher.send_initial(records)
            if options.allow_watch_bookmarks:
                watcher.send_bookmark(initial_events_end=True)
        elif self._since:
            try:
                events = storage.events_since(min(self._since, storage.revision), table)
            except RevisionTooOld as error:
                raise watch_expired(error.revision, error.oldest) from None
            watcher.replay(events, self._since)
        await watcher.go_live()

    async def _keep(self, watcher: Watcher, end: float) -> None:
        """Wait for the end, with a bookmark now and then and one shortly before it."""
        loop = asyncio.get_running_loop()
        last = end - _BEFORE_END
        while not watcher.ended.done():
            now = loop.time()
            step = min(BOOKMARK_INTERVAL, (last if now < last else end) - now)
            if not self._options.allow_watch_bookmarks:
                step = end - now
            await asyncio.wait((watcher.ended, watcher.stalled), timeout=step, return_when=asyncio.FIRST_COMPLETED)
            if watcher.stalled.done():
                await watcher.go_live()
            elif self._options.allow_watch_bookmarks and watcher.live and loop.time() < end:
                watcher.send_bookmark()


def watch(request: Request, options: ListOptions, representation: Representation) -> Watch:
    """Accept a watch, or refuse it; what is wrong with the revision is told within the stream."""
    selection = select(request.kind, request.namespace, options.label_selector, options.field_selector, request.name)
    try:
        since = parse_revision(options.resource_version)
    except ValueError as error:
        raise invalid_revision(options.resource_version, error) from None
    if options.send_initial_events is None and not options.resource_version_match and not since:
        # A client that names no version gets the present objects first, as it always did.
        options = msgspec.structs.replace(options, send_initial_events=True)
    return Watch(request, options, selection, representation, since)


def error_frame(error: APIError) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % encode(to_builtins(error.status))


class Watches:
    """The watches under way, so that they can be ended together: of a kind that is dropped, or all of them."""

    def __init__(self) -> None:
        self._closers: dict[object, tuple[object, Callable[[], None]]] = {}

    def add(self, kind: object, close: Callable[[], None]) -> Callable[[], None]:
        token = object()
        self._closers[token] = (kind, close)
        return lambda: self._closers.pop(token, None) and None

    def end(self, kind: object = None) -> None:
        """End the watches of a kind, or all."""
        for found, close in tuple(self._closers.values()):
            if kind is None or found is kind:
                close()
