"""Builder: a controller from what it is for, owns and watches, step by step.

    new_controller_managed_by(manager).for_(Memcached).owns(Deployment).complete(MemcachedReconciler())

`@controller` on the reconciler's class says the same, and `manager.add` builds it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from kapstan.client.interface import Kind, gvk_of
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.runtime.controller import Controller
from kapstan.runtime.declaration import (
    ControllerDeclaration,
    ControllerOptions,
    Owned,
    Watched,
    declared_watches,
    default_finalizer,
)
from kapstan.runtime.handler import AsyncHandler, Handler, enqueue_object, enqueue_owner
from kapstan.runtime.lifecycle import Lifecycle
from kapstan.runtime.predicate import PredicateFunction
from kapstan.runtime.reconcile import Reconciler, kind_of
from kapstan.runtime.source import KindSource, Source

if TYPE_CHECKING:
    from kapstan.runtime.cluster import Cluster
    from kapstan.runtime.manager import Manager

__all__ = ("Builder", "build", "new_controller_managed_by")


class Builder:
    """Collects what a controller is made of."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._kind: type[Resource] | GroupVersionKind | None = None
        self._when: PredicateFunction | None = None
        self._name = ""
        self._finalizer = ""
        self._owns: list[Owned] = []
        self._watches: list[Watched] = []
        self._sources: list[Source] = []
        self._reads: list[Kind[Any]] = []
        self._event_filter: PredicateFunction | None = None
        self._options: dict[str, Any] = {}

    def for_(self, kind: type[Resource] | GroupVersionKind, *, when: PredicateFunction | None = None) -> Self:
        """The kind that is reconciled."""
        self._kind, self._when = kind, when
        return self

    def owns(self, kind: Kind[Any], *, when: PredicateFunction | None = None, every_owner: bool = False) -> Self:
        """A kind whose objects wake their owner. `metadata_of(kind)` watches the metadata only."""
        self._owns.append(Owned(kind, when, every_owner))
        return self

    def watches(
        self, kind: Kind[Any], handler: Handler | AsyncHandler, *, when: PredicateFunction | None = None
    ) -> Self:
        """A kind whose objects wake those that a handler names, such as `map_to(function)`."""
        self._watches.append(Watched(kind, handler, when))
        return self

    def watches_source(self, source: Source) -> Self:
        """A source of another sort: a channel, a timer, another cluster's objects."""
        self._sources.append(source)
        return self

    def reads(self, *kinds: Kind[Any]) -> Self:
        """Kinds that are cached because the reconciler reads them."""
        self._reads.extend(kinds)
        return self

    def with_event_filter(self, when: PredicateFunction) -> Self:
        """Let only such changes of anything that is watched wake anybody."""
        self._event_filter = when
        return self

    def named(self, name: str) -> Self:
        self._name = name
        return self

    def with_finalizer(self, finalizer: str) -> Self:
        self._finalizer = finalizer
        return self

    def with_options(self, **options: Any) -> Self:
        """Fields of ControllerOptions."""
        self._options |= options
        return self

    def complete(self, reconciler: Reconciler[Any]) -> Controller:
        """Build the controller and hand it to the manager."""
        kind = self._kind or kind_of(type(reconciler))
        if kind is None:
            raise ValueError(f"say what {type(reconciler).__qualname__} is for: for_(Kind)")
        declaration = ControllerDeclaration(
            kind=kind,
            name=self._name or gvk_of(kind).kind.lower(),
            owns=tuple(self._owns),
            watches=tuple(self._watches),
            sources=tuple(self._sources),
            reads=tuple(self._reads),
            when=self._when,
            event_filter=self._event_filter,
            finalizer=self._finalizer or default_finalizer(gvk_of(kind), self._name),
            options=ControllerOptions(**self._options),
        )
        return self._manager.add_controller(reconciler, declaration)


def new_controller_managed_by(manager: Manager) -> Builder:
    """Begin to build a controller."""
    return Builder(manager)


def build(cluster: Cluster, reconciler: Reconciler[Any], declaration: ControllerDeclaration) -> Controller:
    """The controller that a declaration describes, on a cluster's informers."""
    watched = [*declaration.watches, *declared_watches(reconciler)]
    sources = [_source(cluster, one, declaration.event_filter) for one in _kinds(declaration, watched)]
    for kind in declaration.reads:
        cluster.informers.shared(kind)
    _equip(cluster, reconciler, declaration.name)
    lifecycle = Lifecycle(
        reconciler,
        declaration.kind,
        cluster.client,
        declaration.finalizer,
        threads=declaration.options.max_concurrent_reconciles,
    )
    return Controller(
        declaration.name,
        lifecycle,
        sources=[*sources, *declaration.sources],
        options=declaration.options,
        gvk=gvk_of(declaration.kind),
        metrics=cluster.metrics,
    )


def _source(cluster: Cluster, watched: Watched, event_filter: PredicateFunction | None) -> KindSource:
    when = [one for one in (watched.when, event_filter) if one is not None]
    return KindSource(cluster.informers.shared(watched.kind), watched.kind, watched.handler, when)


def _kinds(declaration: ControllerDeclaration, watched: Iterable[Watched]) -> list[Watched]:
    """Everything that is watched, with whom it wakes."""
    own = Watched(declaration.kind, enqueue_object, declaration.when)
    owned = [
        Watched(one.kind, enqueue_owner(declaration.kind, every_owner=one.every_owner), one.when)
        for one in declaration.owns
    ]
    return [own, *owned, *watched]


def _equip(cluster: Cluster, reconciler: Reconciler[Any], name: str) -> None:
    """Give a reconciler what it works with."""
    reconciler.client, reconciler.live = cluster.client, cluster.live
    reconciler.events = cluster.recorder(name)
    reconciler.log = logging.getLogger(type(reconciler).__module__)
