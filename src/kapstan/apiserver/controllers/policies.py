"""PolicyStatusController: tells in the status of validating policies what is wrong with their expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.admission.policy.typechecking import expression_warnings
from kapstan.apiserver.controllers.serving import controller_api
from kapstan.apiserver.controllers.work import WorkQueue
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("PolicyStatusController",)

Object = dict[str, Any]

_POLICIES = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
_MANAGER = "validatingadmissionpolicy-status"


class PolicyStatusController:
    """Checks the types of every policy once, and again when its spec changes."""

    def __init__(self, cluster: LogicalCluster) -> None:
        self._cluster = cluster
        self._storage = cluster.storage
        self._api = controller_api(cluster, f"{_MANAGER}-controller", _MANAGER)
        self._queue: WorkQueue[str] = WorkQueue(cluster, "policies", self._reconcile)
        self._stop = self._storage.observe(self._on_policy, _POLICIES)

    def start(self) -> None:
        for record in self._storage.list(_POLICIES):
            self._queue.add(record.key)

    async def idle(self) -> None:
        await self._queue.idle()

    def close(self) -> None:
        self._stop()
        self._queue.close()

    def _on_policy(self, event: Event) -> None:
        if event.type != "DELETED":
            self._queue.add(event.record.key)

    async def _reconcile(self, key: str) -> None:
        record = self._storage.get(_POLICIES, key)
        if record is None:
            return
        policy: Object = msgspec.json.decode(record.value)
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        warnings = expression_warnings(policy, self._cluster.kinds)
        status = {
            "observedGeneration": generation,
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        applied = {
            "apiVersion": policy["apiVersion"],
            "kind": policy["kind"],
            "metadata": {"name": record.name},
            "status": status,
        }
        await self._api.apply(applied, subresource="status")
