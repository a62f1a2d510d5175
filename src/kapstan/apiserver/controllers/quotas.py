"""ResourceQuotaController: how much of each quota is used, counted again when something may have been set free.

What new objects take is written down when they are admitted. A cluster without quotas is not even listened to. The more
there is to count, the longer the rest of the server goes first: of many deletions, many are counted together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.admission.quota.amounts import Amounts, only, parsed, total, written
from kapstan.apiserver.admission.quota.measures import Measure, measure_of, measures_for
from kapstan.apiserver.admission.quota.scopes import requirements
from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.apiserver.controllers.serving import ServedKinds
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.quantity import Quantity

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("ResourceQuotaController",)

Object = dict[str, Any]

_QUOTAS = GroupResource("", "resourcequotas")
_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_AGAIN = 300.0  # seconds, after which what was charged for objects that never came is forgotten
_PER_TURN = 10  # objects to count for each turn that others have before
_QUOTABLE = frozenset(("create", "list", "watch", "delete"))


class ResourceQuotaController(CollectionController):
    """Keeps the status of quotas."""

    account = "resourcequota-controller"
    collection = _QUOTAS

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self._kinds = ServedKinds(cluster)
        self._stop_listening: Callable[[], None] | None = None
        self._looked_at = 0  # objects, for one quota
        self._counted: dict[str, int] = {}  # how many that were the last time, by quota

    def start(self) -> None:
        self._listen()
        super().start()

    def close(self) -> None:
        super().close()
        if self._stop_listening is not None:
            self._stop_listening()

    def _listen(self) -> None:
        """Follow what happens to all objects while, and only while, there is a quota."""
        if self._storage.count(_QUOTAS):
            if self._stop_listening is None:
                self._stop_listening = self._storage.observe(self._on_event)
        elif self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def observe(self, event: Event) -> None:
        if event.type != "MODIFIED":
            self._listen()
        if event.type == "DELETED":
            self._counted.pop(event.record.key, None)
            return
        quota = msgspec.json.decode(event.record.value)
        before = msgspec.json.decode(event.previous.value) if event.previous is not None else None
        if before is None or parsed(quota["spec"].get("hard")) != parsed(before["spec"].get("hard")):
            self._queue.add(event.record.key)

    def _on_event(self, event: Event) -> None:
        record = event.record
        if record.kind == _DEFINITIONS:
            self._look_at("", lambda _: True)
        elif event.type == "ADDED" or not record.namespace:
            return
        measure = measure_of(record.kind)
        if measure is not None and (event.type == "DELETED" or (measure.weighs and _set_free(measure, event))):
            self._look_at(f"{record.namespace}/", measure.covers)

    def _look_at(self, prefix: str, covers: Callable[[str], bool]) -> None:
        for record in self._storage.list(_QUOTAS, prefix):
            quota = msgspec.json.decode(record.value)
            if any(map(covers, (quota.get("status") or {}).get("hard") or ())):
                self._queue.add(record.key)

    async def reconcile(self, key: str) -> None:
        for _ in range(self._counted.get(key, 0) // _PER_TURN):
            await asyncio.sleep(0)
        record = self._storage.get(_QUOTAS, key)
        if record is None:
            return
        quota: Object = msgspec.json.decode(record.value)
        hard, status = quota["spec"].get("hard") or {}, quota.get("status") or {}
        self._looked_at = 0
        used = only(parsed(status.get("used")) | self._used(quota, record.namespace), hard)
        self._counted[key] = self._looked_at
        known = status.get("hard") is not None and status.get("used") is not None
        if not known or parsed(hard) != parsed(status.get("hard")) or used != parsed(status.get("used")):
            try:
                await self._api.update({**quota, "status": {"hard": hard, "used": written(used)}}, subresource="status")
            except NotFound:
                return
        self._queue.add_after(key, _AGAIN)

    def _used(self, quota: Object, namespace: str) -> Amounts:
        hard = quota["spec"].get("hard") or {}
        found: Amounts = {}
        for measure in measures_for(hard, self._is_quotable):
            found = total(
                (found, dict.fromkeys(measure.covered(hard), _NOTHING), self._measured(measure, quota, namespace))
            )
        return only(found, hard)

    def _measured(self, measure: Measure, quota: Object, namespace: str) -> Amounts:
        records = self._storage.list(measure.resource, f"{namespace}/")
        self._looked_at += len(records)
        scope = requirements(quota)
        if not measure.weighs:
            return {} if scope else dict.fromkeys(measure.names, Quantity(len(records)))
        objects = (msgspec.json.decode(record.value) for record in records)
        return total(measure.usage(one) for one in objects if all(measure.in_scope(need, one) for need in scope))

    def _is_quotable(self, resource: GroupResource) -> bool:
        kind = self._kinds[resource]
        return kind is not None and kind.namespaced and set(kind.verbs) >= _QUOTABLE


_NOTHING = Quantity(0)


def _set_free(measure: Measure, event: Event) -> bool:
    if event.previous is None:
        return False
    return measure.changes(msgspec.json.decode(event.record.value), msgspec.json.decode(event.previous.value))
