"""Informer: the current objects of one kind, and everybody who wants to hear about them.

A shared informer is about bytes: reflectors fill a delta queue, one task carries it into the mirror, listeners hear
of each change. An informer is a typed view of it. Listeners are called inside the event loop and must be quick; one
that raises is logged and harms nobody else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kapstan.client.interface import Kind
from kapstan.machinery.codec import decode_any, encode
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.runtime.change import Change
from kapstan.runtime.deltaqueue import BATCH, DeltaQueue, Replaced
from kapstan.runtime.lister import Lister
from kapstan.runtime.mirror import Listener, Mirror
from kapstan.runtime.reflector import ListWatch, Reflector
from kapstan.runtime.scope import Scope, Transform
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.store import Store

__all__ = ("Informer", "SharedInformer")

T = TypeVar("T")

log = logging.getLogger(__name__)


class SharedInformer:
    """The objects of one kind within a scope, as snapshots."""

    def __init__(self, gvk: GroupVersionKind, *, scope: Scope | None = None, metadata_only: bool = False) -> None:
        self.gvk = gvk
        self.scope = scope or Scope()
        self.metadata_only = metadata_only
        self.store = Store()
        self._mirror = Mirror(self.store, self._tell)
        self._listeners: list[Listener] = []
        self._deltas = DeltaQueue()
        self._reflectors: list[Reflector] = []
        self._incomplete: set[str] = set()
        self._synced = asyncio.Event()
        self._settled = asyncio.Event()  # synced, or known to be absent

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self, list_watches: Sequence[ListWatch]) -> None:
        """Follow the objects of these places until cancelled."""
        self._incomplete = {one.namespace for one in list_watches}
        self._reflectors = [Reflector(one, self._deltas, self._read, self.settle) for one in list_watches]
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run(), name=f"reflector {self.gvk.kind}")
            group.create_task(self._carry(), name=f"informer {self.gvk.kind}")
            if self.scope.resync:
                group.create_task(self._resync(self.scope.resync), name=f"resync {self.gvk.kind}")

    async def _carry(self) -> None:
        while True:
            for delta in await self._deltas.take():
                self._mirror.handle(delta)
                if isinstance(delta, Replaced):
                    self._complete(delta.namespace)
            await asyncio.sleep(0)  # others have a turn between two batches

    def _complete(self, namespace: str) -> None:
        self._incomplete.discard(namespace)
        if not self._incomplete and not self._synced.is_set():
            log.debug("Caching %d objects of kind %s", len(self.store), self.gvk.kind)
            self._synced.set()
            self.settle()

    async def _resync(self, interval: float) -> None:
        """Tell every object again now and then, for reconcilers that look at something outside of the cluster."""
        while True:
            await asyncio.sleep(interval * random.uniform(0.9, 1.1))  # noqa: S311
            for position, snapshot in enumerate(list(self.store)):
                self._tell(snapshot, snapshot, False)
                if position % BATCH == BATCH - 1:
                    await asyncio.sleep(0)

    # --- Asking -----------------------------------------------------------------------------------------------------

    @property
    def synced(self) -> bool:
        """Whether everything that was there at the start is here."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_settled(self) -> None:
        """Wait until it is synced, or the server is known not to serve the kind."""
        await self._settled.wait()

    def settle(self) -> None:
        """There is nothing to wait for at present."""
        self._settled.set()

    @property
    def absent(self) -> bool:
        """Whether the server does not serve the kind at present."""
        return self._settled.is_set() and not self.synced

    @property
    def healthy(self) -> bool:
        """Whether what is here is current."""
        return bool(self._reflectors) and all(reflector.healthy for reflector in self._reflectors)

    @property
    def trouble(self) -> str:
        """Why it is not healthy."""
        errors = [reflector.error for reflector in self._reflectors if reflector.error is not None]
        if errors:
            return str(errors[0])
        return "" if self.healthy else "no contact" if self.synced else "not synced yet"

    # --- Listening --------------------------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function told of each change, first of all that is here already. Call the result to end it."""
        for snapshot in self._mirror.told():
            _contained(listener, None, snapshot, True)
        self._listeners = [*self._listeners, listener]
        return lambda: self._unlisten(listener)

    def _unlisten(self, listener: Listener) -> None:
        self._listeners = [one for one in self._listeners if one is not listener]

    def _tell(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        for listener in self._listeners:
            _contained(listener, old, new, initial)

    # --- Own writes -------------------------------------------------------------------------------------------------

    def wrote(self, data: bytes) -> None:
        """The server answered a write of this process with this object: readers see it from now on."""
        snapshot = self._read(_metadata_alone(data) if self.metadata_only else data)
        if self.scope.contains(snapshot):
            self._mirror.wrote(snapshot)
        else:
            self._mirror.deleted(snapshot.key, snapshot.uid)

    def deleted(self, key: ObjectKey, uid: str = "") -> None:
        """The server agreed to delete an object for this process: readers no longer see it."""
        self._mirror.deleted(key, uid)

    def _read(self, data: bytes) -> Snapshot:
        snapshot = Snapshot.of(data, managed_fields=self.scope.managed_fields)
        return snapshot if self.scope.transform is None else _transformed(snapshot, self.scope.transform)


class Informer(Generic[T]):
    """A shared informer as objects of one type."""

    def __init__(self, shared: SharedInformer, kind: Kind[Any]) -> None:
        self.shared, self.kind = shared, kind

    def lister(self, namespace: str = "") -> Lister[T]:
        """Read what is here: in one namespace, or in all."""
        return Lister(self.shared.store, self.kind, namespace)

    def on_change(self, handler: Callable[[T | None, T | None], None]) -> Callable[[], None]:
        """Have a function called with the object before and after each change; None where there is none."""

        def decoded(old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
            before = None if old is None else old.decode(self.kind)
            handler(before, None if new is None else new.decode(self.kind))

        return self.shared.listen(decoded)

    def on(self, handler: Callable[[Change], None]) -> Callable[[], None]:
        """Have a function called with each change, nothing decoded yet."""
        return self.shared.listen(lambda old, new, initial: handler(Change(self.kind, old, new, initial=initial)))

    def add_index(self, name: str, values_of: Callable[[T], Iterable[str]]) -> None:
        """Keep the objects findable by what a function of them returns: `lister.by_index(name, value)`."""
        self.shared.store.add_index(name, lambda snapshot: values_of(snapshot.decode(self.kind)))

    @property
    def synced(self) -> bool:
        return self.shared.synced

    async def wait_synced(self) -> None:
        await self.shared.wait_synced()


def _contained(listener: Listener, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
    try:
        listener(old, new, initial)
    except Exception:
        state = new or old
        log.exception("A handler failed for %s; the change is lost to it", state and state.key)


def _transformed(snapshot: Snapshot, transform: Transform) -> Snapshot:
    """What a transform makes of an object. One that fails leaves it as it was: too much is better than nothing."""
    try:
        changed = Snapshot.of(encode(transform(decode_any(snapshot.data))))
    except Exception:
        log.exception("The transform failed for %s, which is kept as it is", snapshot.key)
        return snapshot
    if changed.key != snapshot.key:
        log.error("The transform made %s of %s, which is kept as it is", changed.key, snapshot.key)
        return snapshot
    return changed


def _metadata_alone(data: bytes) -> bytes:
    obj = decode_any(data)
    return encode({"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"]})
