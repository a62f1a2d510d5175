"""Providers' objects: found by reference, watched from the moment that somebody refers to their kind.

Core knows no provider. A reference names group, kind and name; the labels of the kind's CRD say which version follows
the contract. Whoever refers to an object hears of it, also before it exists and whoever owns it: objects are found by
what they refer to, not by owner references. A CRD that is installed later wakes everybody who refers to its kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.contract.version import Contract, contract_of, crd_name
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Queue
from kapstan.runtime.workqueue import LOW_PRIORITY

__all__ = ("DEFINITIONS", "NotInstalled", "Providers", "Referenced")

R = TypeVar("R", bound=Resource)
V = TypeVar("V", bound=ProviderObject)

# What is cached of CRDs: their labels are all that core reads.
DEFINITIONS = metadata_of(CustomResourceDefinition)
_INDEX = "provider"


class NotInstalled(KapstanError):
    """A provider's kind that somebody refers to does not exist."""


class Providers(Generic[R]):
    """What objects of one kind refer to. It is a source, too: it wakes whoever refers to an object that changes."""

    def __init__(
        self, client: CachedClient, kind: type[R], references: Callable[[R], Iterable[ContractReference]]
    ) -> None:
        self._client = client
        self._referrers = self._informers.shared(kind).store
        self._followed: set[GroupVersionKind] = set()
        self._queue: Queue | None = None
        self._informers[kind].add_index(_INDEX, lambda obj: _values(references(obj)))

    @property
    def _informers(self) -> InformerFactory:
        return self._client.cache.factory

    # --- Finding ----------------------------------------------------------------------------------------------------

    async def find(self, view: type[V], ref: ContractReference, namespace: str) -> V | None:
        """The object that a reference names, or None if there is none."""
        contract = await self.contract(ref)
        gvk = self._follow(ref, contract)
        document = await self._client.find(gvk, ref.name, namespace)
        return None if document is None else view(document, contract)

    async def find_live(self, view: type[V], ref: ContractReference, namespace: str) -> V | None:
        """The same, asked of the API server: for decisions that nobody can take back."""
        contract = await self.contract(ref)
        document = await self._client.live.find(self._follow(ref, contract), ref.name, namespace)
        return None if document is None else view(document, contract)

    async def contract(self, ref: ContractReference) -> Contract:
        """Which contract the kind of a reference follows, and in which version."""
        kind = _kind_of(ref)
        definition = await self._client.find(DEFINITIONS, crd_name(kind))
        if definition is None:
            raise NotInstalled(
                f"{ref.kind} {ref.name}: there is no CRD {crd_name(kind)}; install the provider of {ref.api_group}"
            )
        return contract_of(kind, definition.metadata.labels)

    # --- Waking -----------------------------------------------------------------------------------------------------

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        """Wake whoever refers to what changes, until cancelled."""
        self._queue = queue
        definitions = self._informers.shared(DEFINITIONS)
        unlisten = definitions.listen(self._definition_changed)
        try:
            await definitions.wait_synced()
            synced()
            await asyncio.Event().wait()
        finally:
            unlisten()
            self._queue = None

    def _follow(self, ref: ContractReference, contract: Contract) -> GroupVersionKind:
        gvk = contract.kind(_kind_of(ref))
        if gvk not in self._followed:
            self._followed.add(gvk)
            definition = crd_name(gvk.group_kind)
            self._informers.shared(gvk).listen(lambda old, new, initial: self._changed(definition, old or new, initial))
        return gvk

    def _changed(self, definition: str, state: Snapshot | None, initial: bool) -> None:
        assert state is not None
        self._wake(f"{definition}/{state.name}", state.namespace, LOW_PRIORITY if initial else 0)

    def _definition_changed(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if initial or new is None or (old is not None and old.labels == new.labels):
            return
        self._wake(new.name, "", 0)

    def _wake(self, referred: str, namespace: str, priority: int) -> None:
        if self._queue is None:
            return
        for snapshot in self._referrers.by_index(_INDEX, referred):
            if namespace in ("", snapshot.namespace):
                self._queue.add(snapshot.key, priority=priority)


class Referenced(Generic[V]):
    """A provider's object as one reconcile knows it: found, missing, or not known because of an error."""

    def __init__(self, ref: ContractReference) -> None:
        self.ref = ref
        self.found: V | None = None
        self.error: Exception | None = None
        self._loaded = False

    @property
    def kind(self) -> str:
        return self.ref.kind

    @property
    def missing(self) -> bool:
        return self._loaded and self.found is None

    def disown(self, why: Exception) -> None:
        """It is there, but somebody else's: nothing is known of an object of ours."""
        self.found, self.error, self._loaded = None, why, False

    async def load(self, providers: Providers[Any], view: type[V], namespace: str, *, live: bool = False) -> V | None:
        """Find the object, and remember how that went."""
        find = providers.find_live if live else providers.find
        try:
            self.found = await find(view, self.ref, namespace)
        except Exception as error:
            self.error = error
            raise
        self._loaded = True
        return self.found


def _kind_of(ref: ContractReference) -> GroupKind:
    return GroupKind(ref.api_group, ref.kind)


def _values(references: Iterable[ContractReference]) -> Iterable[str]:
    for ref in references:
        definition = crd_name(_kind_of(ref))
        yield definition
        yield f"{definition}/{ref.name}"
