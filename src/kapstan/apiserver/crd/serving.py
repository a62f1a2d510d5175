"""CustomResources: keeps the kinds that a cluster serves in step with its definitions.

The stored definitions are the truth: kinds come, change and go when a definition is committed, in the same moment.
Status updates (names, conditions) follow a write, by whoever wrote; deletion of instances runs in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.crd.conversion import webhook_converter
from kapstan.apiserver.crd.definition import CRDS, is_established, kinds_of
from kapstan.apiserver.crd.definitions import CLEANUP
from kapstan.apiserver.crd.finalization import finalize
from kapstan.apiserver.crd.naming import accept_names, tell_approval
from kapstan.apiserver.registry.managed import field_manager
from kapstan.apiserver.registry.objects import decode, record, same
from kapstan.apiserver.storage.interface import Event, Record, WriteConflict
from kapstan.machinery.gvk import GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.kinds import ServedKind

__all__ = ("CustomResources",)

logger = logging.getLogger(__name__)

Object = dict[str, Any]

_DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class CustomResources:
    """The custom kinds of one cluster."""

    def __init__(self, cluster: LogicalCluster) -> None:
        self._cluster = cluster
        self._served: dict[str, list[ServedKind]] = {}  # by definition
        self._specs: dict[str, Object] = {}  # what those kinds were made from
        self._finalizing: set[str] = set()
        self._stop: Callable[[], None] = cluster.storage.observe(self._observe, CRDS)

    async def start(self) -> None:
        """Serve what is stored; a server that was killed may have left definitions that nobody looked at."""
        for stored in self._cluster.storage.list(CRDS):
            self._serve(stored)
            await self.settle(stored)

    def close(self) -> None:
        self._stop()

    # Serving ----------------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if event.type == "DELETED":
            self._drop(event.record.name)
        else:
            self._serve(event.record)

    def _serve(self, stored: Record) -> None:
        crd = decode(stored.value)
        name = crd["metadata"]["name"]
        basis = {"spec": crd["spec"], "names": (crd.get("status") or {}).get("acceptedNames")}
        basis["terminating"] = bool(crd["metadata"].get("deletionTimestamp"))
        if not is_established(crd) or self._specs.get(name) == basis:
            return
        try:
            kinds = kinds_of(crd, webhook_converter(self._cluster, crd))
        except (KeyError, StopIteration, ValueError) as error:
            logger.error("the definition %s cannot be served: %s", name, error)  # noqa: TRY400 - the text says it all
            return
        self._drop(name)
        self._served[name] = [kind for kind, served in kinds.values() if served]
        self._specs[name] = basis
        for kind in self._served[name]:
            self._cluster.kinds.add(kind)

    def _drop(self, name: str) -> None:
        """Stop serving what a definition stood for; whoever watches is told by the end of the stream."""
        self._specs.pop(name, None)
        for kind in self._served.pop(name, ()):
            self._cluster.kinds.remove(kind)
            self._cluster.watches.end(kind)

    # Status -----------------------------------------------------------------------------------------------------------

    async def settle(self, stored: Record) -> None:
        """After a write: accept names, establish, and begin the deletion of instances where that is due."""
        crd = decode(stored.value)
        metadata = crd["metadata"]
        if metadata.get("deletionTimestamp"):
            if CLEANUP in (metadata.get("finalizers") or ()) and metadata["name"] not in self._finalizing:
                self._finalizing.add(metadata["name"])
                self._cluster.spawn(self._finalize(metadata["name"]))
            return
        await self.update_status(metadata["name"], self._accept)

    def _accept(self, crd: Object) -> None:
        tell_approval(crd, _now())
        if crd["spec"]["names"] == (crd.get("status") or {}).get("acceptedNames") and is_established(crd):
            return
        accept_names(crd, self._others(crd), _now())

    def _others(self, crd: Object) -> Iterator[Object]:
        for stored in self._cluster.storage.list(CRDS):
            other = decode(stored.value)
            if other["spec"]["group"] == crd["spec"]["group"] and other["metadata"]["uid"] != crd["metadata"]["uid"]:
                yield other

    async def update_status(self, name: str, change: Callable[[Object], None]) -> Object | None:
        """Change a definition as the server itself; None if it is gone."""
        storage = self._cluster.storage
        kind = self._cluster.kinds.kind(_DEFINITION)
        assert kind is not None
        while True:
            current = storage.latest(CRDS, name)
            if current is None:
                return None
            before, crd = decode(current.value), decode(current.value)
            change(crd)
            if same(crd, before):
                return crd
            manager = field_manager(kind)
            crd = manager.update(before, crd, "kube-apiserver", now=_now(), subresource="status")
            finished = crd["metadata"].get("deletionTimestamp") and not crd["metadata"].get("finalizers")
            write = storage.delete if finished else storage.put
            try:
                await write(CRDS, name, current, partial(_record, kind, name, crd))
            except WriteConflict:
                continue
            return crd

    async def _finalize(self, name: str) -> None:
        try:
            await finalize(self._cluster, name)
        finally:
            self._finalizing.discard(name)
        # Its names are free now; somebody else may be waiting for them.
        for stored in self._cluster.storage.list(CRDS):
            await self.settle(stored)


def _record(kind: ServedKind, name: str, crd: Object, revision: int) -> Record:
    return record(kind, name, revision, crd)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
