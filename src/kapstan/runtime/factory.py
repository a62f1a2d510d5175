"""Informer factory: the informers of one cluster, one for each kind, shared by everybody who asks.

    async with factory.running():            # starts them, and waits until they are synced
        pods = factory[Pod].lister("default").list()

An informer that is asked for while the factory runs starts at once; one that is removed stops.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar, overload

from kapstan.client.client import Client
from kapstan.client.errors import NoKindMatch
from kapstan.client.interface import Kind, MetadataOf, PartialObjectMetadata, Unstructured, gvk_of
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.runtime.background import background
from kapstan.runtime.backoff import Backoff
from kapstan.runtime.informer import Informer, SharedInformer
from kapstan.runtime.listwatch import ClientListWatch
from kapstan.runtime.scope import Scope

__all__ = ("InformerFactory",)

R = TypeVar("R", bound=Resource)

log = logging.getLogger(__name__)


class _Key(NamedTuple):
    """Full objects and their metadata alone are cached apart."""

    gvk: GroupVersionKind
    metadata_only: bool


class InformerFactory:
    """Makes, shares, runs and removes informers."""

    def __init__(
        self,
        client: Client,
        *,
        scope: Scope | None = None,
        scopes: Mapping[Kind[Any], Scope] | None = None,
    ) -> None:
        """`scope` is what is cached of a kind. `scopes` says it for single kinds; they have the namespaces of `scope`
        unless they name their own."""
        self.client = client
        self._scope = scope or Scope()
        self._scopes = {gvk_of(kind): of_kind for kind, of_kind in (scopes or {}).items()}
        self._informers: dict[_Key, SharedInformer] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    # --- Informers --------------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, kind: type[R]) -> Informer[R]: ...
    @overload
    def __getitem__(self, kind: GroupVersionKind) -> Informer[Unstructured]: ...
    @overload
    def __getitem__(self, kind: MetadataOf) -> Informer[PartialObjectMetadata]: ...
    def __getitem__(self, kind: Kind[Any]) -> Any:
        """The informer of a kind, made if there is none yet."""
        return Informer(self.shared(kind), kind)

    def shared(self, kind: Kind[Any]) -> SharedInformer:
        """The informer of a kind as bytes, made if there is none yet."""
        found = self.find(kind)
        return found if found is not None else self._make(kind)

    def find(self, kind: Kind[Any]) -> SharedInformer | None:
        """The informer that can answer for a kind, if there is one. Full objects answer for their metadata, too."""
        gvk = gvk_of(kind)
        full = self._informers.get(_Key(gvk, False))
        if full is not None or not isinstance(kind, MetadataOf):
            return full
        return self._informers.get(_Key(gvk, True))

    def of(self, gvk: GroupVersionKind) -> list[SharedInformer]:
        """Every informer of that kind: of full objects, of their metadata, or both."""
        found = (self._informers.get(_Key(gvk, metadata_only)) for metadata_only in (False, True))
        return [informer for informer in found if informer is not None]

    def configure(self, kind: Kind[Any], scope: Scope) -> None:
        """Say what is cached of a kind; ValueError if its informer already exists."""
        if self.find(kind) is not None:
            raise ValueError(f"the informer of {gvk_of(kind).kind} exists already: say its scope before it is used")
        self._scopes[gvk_of(kind)] = scope

    def remove(self, kind: Kind[Any]) -> None:
        """Stop and forget the informer of a kind."""
        key = _Key(gvk_of(kind), isinstance(kind, MetadataOf))
        self._informers.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def __iter__(self) -> Iterator[SharedInformer]:
        return iter(list(self._informers.values()))

    def _make(self, kind: Kind[Any]) -> SharedInformer:
        key = _Key(gvk_of(kind), isinstance(kind, MetadataOf))
        scope = self._scopes.get(key.gvk, self._scope).within(self._scope.namespaces)
        informer = self._informers[key] = SharedInformer(key.gvk, scope=scope, metadata_only=key.metadata_only)
        if self._group is not None:
            self._start(key, informer)
        return informer

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run every informer, those that are still to come too, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for key, informer in self._informers.items():
                    self._start(key, informer)
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._tasks.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[InformerFactory]:
        """Run every informer inside the block, which begins when they are synced."""
        async with background(self.run(), name="informers"):
            await self.wait_synced()
            yield self

    async def wait_synced(self) -> None:
        """Wait until every informer is, but not for kinds that the server does not serve."""
        for informer in self:
            await informer.wait_settled()

    def _start(self, key: _Key, informer: SharedInformer) -> None:
        assert self._group is not None
        self._tasks[key] = self._group.create_task(self._follow(key, informer), name=f"informer {key.gvk.kind}")

    async def _follow(self, key: _Key, informer: SharedInformer) -> None:
        kind: Kind[Any] = MetadataOf(key.gvk) if key.metadata_only else key.gvk
        places = await self._places(kind, informer)
        await informer.run([ClientListWatch(self.client, kind, informer.scope, place) for place in places])

    async def _places(self, kind: Kind[Any], informer: SharedInformer) -> Sequence[str]:
        """The namespaces to follow; everything at once where none are given or the kind is in none."""
        if not informer.scope.namespaces:
            return ("",)
        backoff = Backoff(0.25, 5)
        while True:
            try:
                mapping = await self.client.mapping(kind)
                return informer.scope.namespaces if mapping.namespaced else ("",)
            except NoKindMatch:
                informer.settle()
            except KapstanError as error:
                log.warning("Looking for %s failed, trying again: %s", gvk_of(kind).kind, error)
            await asyncio.sleep(backoff.next())
