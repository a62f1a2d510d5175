"""DisruptionController: how many pods each disruption budget can spare now, which evictions ask for."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.storage.interface import Event
from kapstan.apiserver.strategy.disruption import is_ready, selects, with_condition
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("DisruptionController", "scaled")

Object = dict[str, Any]

_BUDGETS = GroupResource("policy", "poddisruptionbudgets")
_PODS = GroupResource("", "pods")
_WAIT = timedelta(minutes=2)  # for a pod that was evicted to be deleted


class _NoController(Exception):
    """A pod's controller says nothing of how many pods there should be."""


class DisruptionController(CollectionController):
    """Keeps the status of disruption budgets."""

    account = "disruption-controller"
    collection = _BUDGETS

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self.follow(self._on_pod, _PODS)

    def _on_pod(self, event: Event) -> None:
        if not self._storage.count(_BUDGETS):
            return
        seen = [event.record.labels, event.previous.labels if event.previous is not None else {}]
        for record in self._storage.list(_BUDGETS, f"{event.record.namespace}/"):
            budget = msgspec.json.decode(record.value)
            if any(selects(budget, labels) for labels in seen):
                self._queue.add(record.key)

    async def reconcile(self, key: str) -> None:
        record = self._storage.get(_BUDGETS, key)
        if record is None:
            return
        budget: Object = msgspec.json.decode(record.value)
        now = datetime.now(UTC)
        pods = [
            msgspec.json.decode(pod.value)
            for pod in self._storage.list(_PODS, f"{record.namespace}/")
            if selects(budget, pod.labels)
        ]
        status = self._status(budget, pods, now)
        if status != budget.get("status"):
            await self._write({**budget, "status": status})
        if status.get("disruptedPods"):
            self._queue.add_after(key, _WAIT.total_seconds())

    async def _write(self, budget: Object) -> None:
        try:
            await self._api.update(budget, subresource="status")
        except NotFound:
            return

    def _status(self, budget: Object, pods: list[Object], now: datetime) -> Object:
        before = budget.get("status") or {}
        timestamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        generation = budget["metadata"].get("generation", 0)
        try:
            expected, desired = self._wanted(budget["spec"], pods)
        except _NoController as error:
            return with_condition({**before, "disruptionsAllowed": 0}, timestamp, failure=str(error))
        disrupted = _disrupted(before.get("disruptedPods") or {}, pods, now)
        healthy = sum(_counts(pod, disrupted) for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status: Object = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        if before.get("conditions"):
            status["conditions"] = before["conditions"]
        return with_condition(status, timestamp)

    def _wanted(self, spec: Object, pods: list[Object]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is not None:
            expected = self._expected(pods)
            return expected, max(0, expected - scaled(most, expected))
        if isinstance(least, int):
            return len(pods), least
        if least is not None:
            expected = self._expected(pods)
            return expected, scaled(least, expected)
        return 0, 0

    def _expected(self, pods: list[Object]) -> int:
        """The replicas of all controllers of the pods, each counted once."""
        scales: dict[str, int] = {}
        for pod in pods:
            owner = _controller_of(pod)
            if owner is None or owner["uid"] in scales:
                continue
            found = self._scale(owner, pod["metadata"]["namespace"])
            if found is None:
                raise _NoController(f'found no controllers for pod "{pod["metadata"]["name"]}"')
            scales[found[0]] = found[1]
        return sum(scales.values())

    def _scale(self, owner: Object, namespace: str) -> tuple[str, int] | None:
        """The uid of who scales, and to how many; what a Deployment made counts as the Deployment's."""
        kind = self._cluster.kinds.kind(GroupVersionKind.of(owner["apiVersion"], owner["kind"]))
        if kind is None or "scale" not in kind.subresources or not kind.namespaced:
            return None
        record = self._storage.get(kind.storage.group_resource, kind.storage.key(namespace, owner["name"]))
        if record is None or record.uid != owner["uid"]:
            return None
        obj: Object = msgspec.json.decode(record.value)
        above = _controller_of(obj)
        if above is not None and above["kind"] == "Deployment":
            found = self._scale(above, namespace)
            if found is not None:
                return found
        endpoint = kind.subresources["scale"].scale
        assert isinstance(endpoint, ScaleEndpoint)
        replicas: int = endpoint.scale_of(obj)["spec"].get("replicas", 0)
        return record.uid, replicas


def _controller_of(obj: Object) -> Object | None:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller")), None)


def _disrupted(before: dict[str, str], pods: list[Object], now: datetime) -> dict[str, str]:
    """Pods that were evicted and are not gone yet; after a while nobody believes that they will be."""
    present = {pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp")}
    return {
        name: time for name, time in before.items() if name in present and datetime.fromisoformat(time) + _WAIT >= now
    }


def _counts(pod: Object, disrupted: dict[str, str]) -> bool:
    metadata = pod["metadata"]
    return not metadata.get("deletionTimestamp") and metadata["name"] not in disrupted and is_ready(pod)


def scaled(value: int | str, total: int) -> int:
    """A number of pods, or a percentage of all, rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(int(value.removesuffix("%")) * total / 100)
