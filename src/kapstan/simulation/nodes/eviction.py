"""Eviction: pods leave nodes whose taints they do not tolerate, and those that are no more.

TaintEvictionReconciler deletes what does not tolerate a NoExecute taint, when its time is over.
PodCollector deletes the pods of nodes that do not exist: nobody is left there to do it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kapstan.k8s.core_v1 import Node, Pod
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Outcome, Reconciler, Request, Result
from kapstan.simulation.nodes.taints import evicting_taints, leaves_at
from kapstan.simulation.pods import brief, index_by_node, is_active

__all__ = ("PodCollector", "TaintEvictionReconciler")

_QUARANTINE = 40.0  # seconds for a node that nobody has seen yet to appear


def _bound(change: Change) -> bool:
    """A pod that has just come to a node."""
    if change.new is None or not brief(change.new).spec.node_name:
        return False
    return change.old is None or not brief(change.old).spec.node_name


@controller(Node, name="taint-eviction-controller", max_concurrent_reconciles=2)
class TaintEvictionReconciler(Reconciler[Node]):
    """Has pods leave nodes with NoExecute taints."""

    @watches(Pod, when=_bound)
    def node_of(self, pod: Pod) -> Iterable[Request]:
        return [ObjectKey("", pod.spec.node_name)] if pod.spec.node_name else []

    async def reconcile(self, node: Node) -> Outcome:
        taints = evicting_taints(node)
        if not taints:
            return None
        waits: list[float] = []
        pods = self.client.cache.factory.shared(Pod)
        for snapshot in pods.store.by_index(index_by_node(pods), node.name):
            pod: Pod = snapshot.decode(Pod)
            leaves = leaves_at(pod, taints, now()) if is_active(pod) else None
            if leaves is None:
                continue
            wait = (leaves - now()).total_seconds()
            if wait > 0:
                waits.append(wait)
            else:
                self.events.normal(pod, "TaintManagerEviction", f"Marking for deletion Pod {pod.key}")
                await self.client.delete(pod, uid=pod.uid)
        return Result(requeue_after=min(waits)) if waits else None


@controller(Node, name="pod-garbage-collector", reads=[Pod])
class PodCollector(Reconciler[Request]):
    """Deletes the pods of nodes that are gone."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    @watches(Pod, when=_bound)
    def missing_node_of(self, pod: Pod) -> Iterable[Request]:
        key = ObjectKey("", pod.spec.node_name or "")
        return [] if key in self.client.cache.factory.shared(Node).store else [key]

    async def reconcile(self, key: Request) -> Outcome:
        if await self.client.find(Node, key.name) is not None:
            self._seen.add(key.name)
            return None
        pods = self.client.cache.factory.shared(Pod)
        left = pods.store.by_index(index_by_node(pods), key.name)
        if not left:
            self._seen.discard(key.name)
            return None
        if key.name not in self._seen:
            self._seen.add(key.name)
            return Result(requeue_after=_QUARANTINE)
        if await self.live.find(Node, key.name) is None:
            for snapshot in left:
                await self.client.delete(Pod, snapshot.name, snapshot.namespace, uid=snapshot.uid, grace_period=0)
        return None
