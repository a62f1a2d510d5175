"""Cache: reads from informers what one would otherwise ask the API server for.

It never starts an informer because somebody reads: an operator that reads one Secret would find itself holding every
Secret of the cluster. A kind that nobody declared is refused, with the ways to declare it.
"""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Kind, MetadataOf, ObjectList, Selector, gvk_of
from kapstan.machinery.errors import KapstanError, NotFound
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import StatusDetails
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.lister import field_selector, label_selector

__all__ = ("Cache", "NotCached")


class NotCached(KapstanError):
    """The cache cannot know: the kind, or the namespace, is not among what it holds."""


class Cache:
    """Reads the informers of a factory."""

    def __init__(self, factory: InformerFactory) -> None:
        self.factory = factory

    def holds(self, kind: Kind[Any]) -> bool:
        """Whether the kind has been declared."""
        return self.factory.find(kind) is not None

    async def find(self, kind: Kind[Any], key: ObjectKey) -> Any:
        """One object, or None if there is none."""
        informer = await self._informer(kind)
        _check_namespace(informer, key.namespace)
        snapshot = informer.store.get(key)
        return None if snapshot is None else snapshot.decode(kind)

    async def get(self, kind: Kind[Any], key: ObjectKey) -> Any:
        """One object; NotFound if there is none."""
        found = await self.find(kind, key)
        if found is None:
            gvk = gvk_of(kind)
            details = StatusDetails(name=key.name, group=gvk.group, kind=gvk.kind)
            raise NotFound(f"get {gvk.kind} {key}: not found in the cache", details=details)
        return found

    async def list(
        self, kind: Kind[Any], namespace: str = "", *, labels: Selector = "", fields: Selector = ""
    ) -> ObjectList[Any]:
        """The objects that match, by namespace and name."""
        informer = await self._informer(kind)
        _check_namespace(informer, namespace)
        selector = field_selector(fields)
        if informer.metadata_only and any(not one.field.startswith("metadata.") for one in selector.requirements):
            raise NotCached(f"only the metadata of {informer.gvk.kind} is cached: the fields {selector} are not")
        found = informer.store.select(namespace, label_selector(labels), selector)
        return ObjectList(snapshot.decode(kind) for snapshot in found)

    async def _informer(self, kind: Kind[Any]) -> SharedInformer:
        """The informer of a kind, synced."""
        informer = self.factory.find(kind)
        name = gvk_of(kind).kind
        if informer is None:
            what = f"the metadata of {name}" if isinstance(kind, MetadataOf) else name
            raise NotCached(
                f"{what} is not cached: declare it (owns=, watches= or reads= of the controller) "
                "or read it live (self.live, or uncached= of the manager)"
            )
        if not informer.synced:
            await informer.wait_settled()
            if informer.absent:
                raise NotCached(f"{name} is not cached: the API server does not serve that kind")
        return informer


def _check_namespace(informer: SharedInformer, namespace: str) -> None:
    namespaces = informer.scope.namespaces
    if namespaces and namespace and namespace not in namespaces:
        raise NotCached(f"{informer.gvk.kind} is cached in {', '.join(namespaces)} only, not in namespace {namespace}")
