"""EndpointsReconciler: keeps the EndpointSlices and the Endpoints of Services that select pods.

A Service's slices go with it, as what it owns does. Its Endpoints have no owner: they are deleted here, also those of
Services that went while nobody looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kapstan.client.interface import Patch
from kapstan.k8s.core_v1 import Endpoints, Node, Pod, Service
from kapstan.k8s.discovery_v1 import EndpointSlice
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.patch import diff
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Reconciler, Request
from kapstan.runtime.snapshot import Snapshot
from kapstan.simulation.endpoints.legacy import desired_endpoints
from kapstan.simulation.endpoints.members import Member, members
from kapstan.simulation.endpoints.slices import MANAGED_BY, SERVICE_NAME, planned

__all__ = ("EndpointsReconciler",)

_ZONE = "topology.kubernetes.io/zone"
_LEADER = "control-plane.alpha.kubernetes.io/leader"


class _Selectors:
    """The selectors of all Services, by namespace: each pod that changes is held against them."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, dict[str, str]]] = {}

    def hear(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is not None:
            selector = new.decode(Service).spec.selector
            self._by_namespace.setdefault(new.namespace, {})[new.name] = selector
        elif old is not None:
            self._by_namespace.get(old.namespace, {}).pop(old.name, None)

    def matching(self, pod: Pod) -> list[ObjectKey]:
        labels = pod.metadata.labels.items()
        services = self._by_namespace.get(pod.namespace, {})
        return [
            ObjectKey(pod.namespace, name)
            for name, selector in services.items()
            if selector and selector.items() <= labels
        ]


def _found_at_first(change: Change) -> bool:
    """Endpoints that were there before us; those that only say who leads are no Service's."""
    return change.initial and change.new is not None and _LEADER not in change.new.annotations()


@controller(
    Service,
    name="endpointslice-controller",
    owns=[EndpointSlice],
    reads=[Endpoints, Pod, Node],
    max_concurrent_reconciles=4,
)
class EndpointsReconciler(Reconciler[Request]):
    """Says where Services' pods are."""

    @cached_property
    def _selectors(self) -> _Selectors:
        selectors = _Selectors()
        self.client.cache.factory.shared(Service).listen(selectors.hear)
        return selectors

    @watches(Pod)
    def services_of(self, pod: Pod) -> Sequence[Request]:
        return self._selectors.matching(pod)

    @watches(Endpoints, when=_found_at_first)
    def service_of(self, endpoints: Endpoints) -> Sequence[Request]:
        return [endpoints.key]

    async def reconcile(self, key: Request) -> None:
        service = await self.client.find(Service, key.name, key.namespace)
        if service is None:
            await self._remove_endpoints(key)
        else:
            await self._keep(service)

    async def _remove_endpoints(self, key: Request) -> None:
        known = await self.client.find(Endpoints, key.name, key.namespace)
        if known is not None and await self.live.find(Service, key.name, key.namespace) is None:
            await self.client.delete(known, uid=known.uid)

    async def _keep(self, service: Service) -> None:
        if not service.spec.selector or service.deleting or service.spec.type == "ExternalName":
            return
        store = self.client.cache.factory[Pod].lister(service.namespace)
        found = members(service, store.list(labels=service.spec.selector))
        await self._write_slices(service, found)
        await self._write_endpoints(service, found)

    async def _write_slices(self, service: Service, found: Sequence[Member]) -> None:
        owned = self.client.cache.factory[EndpointSlice].lister(service.namespace).owned_by(service)
        existing = [one for one in owned if one.metadata.labels.get(SERVICE_NAME) == service.name]
        plan = planned(service, found, [one for one in existing if MANAGED_BY in one.metadata.labels], self._zone)
        for was, shall_be in plan.kept:
            if changes := diff(to_builtins(was), to_builtins(shall_be)):
                await self.client.patch(was, Patch.merge(changes))
        for new in plan.new:
            await self.client.create(new)
        for gone in plan.gone:
            await self.client.delete(gone, uid=gone.uid)

    async def _write_endpoints(self, service: Service, found: Sequence[Member]) -> None:
        wanted = desired_endpoints(service, found)
        known = await self.client.find(Endpoints, service.name, service.namespace)
        if known is None:
            try:
                await self.client.create(wanted)
            except AlreadyExists:
                return  # the watch is behind; it wakes us
            return
        if changes := diff(_said(known), _said(wanted)):
            await self.client.patch(known, Patch.merge(changes))

    def _zone(self, node: str) -> str:
        snapshot = self.client.cache.factory.shared(Node).store.get(ObjectKey("", node))
        return "" if snapshot is None else snapshot.labels.get(_ZONE, "")


def _said(endpoints: Endpoints) -> dict[str, Any]:
    """The part of it that is ours."""
    return {"metadata": {"labels": endpoints.metadata.labels}, "subsets": to_builtins(endpoints.subsets) or None}
