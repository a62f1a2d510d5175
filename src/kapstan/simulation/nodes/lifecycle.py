"""NodeLifecycleReconciler: a node that shows no sign of life is unknown; one that is not ready is tainted.

A sign of life is a renewal of its lease. Pods of a node that is not ready are not ready either, whoever they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from kapstan.client.interface import PartialObjectMetadata, Patch, metadata_of
from kapstan.k8s.coordination_v1 import Lease
from kapstan.k8s.core_v1 import Node, NodeCondition, Pod
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.meta import now
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Outcome, Reconciler, Request, Result
from kapstan.simulation.nodes.taints import desired_taints, ready_status
from kapstan.simulation.pods import index_by_node, is_ready
from kapstan.simulation.writing import write_status

__all__ = ("GRACE", "NodeLifecycleReconciler")

GRACE = 50.0  # seconds without a sign of life that a node has, as kube-controller-manager gives it
_LEASES = "kube-node-lease"
_LEASE = metadata_of(Lease)
_KUBELETS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


@controller(Node, name="node-lifecycle-controller", reads=[Pod], max_concurrent_reconciles=2)
class NodeLifecycleReconciler(Reconciler[Node]):
    """Says of nodes what they cannot say themselves."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._seen: dict[str, float] = {}  # the last sign of life of each node

    @watches(_LEASE)
    def node_of(self, lease: PartialObjectMetadata) -> Iterable[Request]:
        """A renewal is remembered. It wakes nobody: a node that was lost says itself that it is back."""
        if lease.namespace == _LEASES:
            self._seen[lease.name] = asyncio.get_running_loop().time()
        return ()

    async def reconcile(self, node: Node) -> Outcome:
        clock = asyncio.get_running_loop().time()
        silence = clock - self._seen.setdefault(node.name, clock)
        if silence >= self._grace and ready_status(node) != "Unknown":
            node = await self._lose(node)
        await self._taint(node)
        if ready_status(node) != "True":
            await self._mark_pods(node)
        return Result(requeue_after=max(self._grace - silence, 1.0)) if ready_status(node) != "Unknown" else None

    async def _lose(self, node: Node) -> Node:
        """Nobody knows how it is any more."""
        known = {one.type: one for one in node.status.conditions}
        lost = [_unknown(node, type, known.get(type)) for type in _KUBELETS]
        others = [one for one in node.status.conditions if one.type not in _KUBELETS]
        await write_status(self.client, node, node.status.replace(conditions=[*lost, *others]))
        self.events.normal(node, "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")
        return await self.client.find(Node, node.name) or node

    async def _taint(self, node: Node) -> None:
        wanted = desired_taints(node, now())
        if wanted != node.spec.taints:
            metadata = {"resourceVersion": node.metadata.resource_version}  # others put taints there, too
            changes = {"metadata": metadata, "spec": {"taints": to_builtins(wanted) or None}}
            await self.client.patch(node, Patch.merge(changes))

    async def _mark_pods(self, node: Node) -> None:
        pods = self.client.cache.factory.shared(Pod)
        for snapshot in pods.store.by_index(index_by_node(pods), node.name):
            pod: Pod = snapshot.decode(Pod)
            if is_ready(pod):
                conditions = [
                    one.replace(status="False", last_transition_time=now()) if one.type == "Ready" else one
                    for one in pod.status.conditions
                ]
                await write_status(self.client, pod, pod.status.replace(conditions=conditions))


def _unknown(node: Node, type: str, old: NodeCondition | None) -> NodeCondition:
    never = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
    reason, message = ("NodeStatusUnknown", "Kubelet stopped posting node status.") if old is not None else never
    return NodeCondition(
        type=type,
        status="Unknown",
        reason=reason,
        message=message,
        last_heartbeat_time=old.last_heartbeat_time if old is not None else node.metadata.creation_timestamp,
        last_transition_time=now(),
    )
