"""Scheduler: finds a node for each pod that has none, or says why there is none.

A simulation of kube-scheduler's default profile: it looks at nodes in turn until enough are found that would do, and
takes the emptiest. Pods that found no place are tried again when a node changes or a pod makes room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from kapstan.client.interface import Patch
from kapstan.k8s.core_v1 import Node, Pod, PodCondition
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import now
from kapstan.runtime.change import Change
from kapstan.runtime.declaration import controller, watches
from kapstan.runtime.reconcile import Reconciler, Request
from kapstan.simulation.pods import brief, condition
from kapstan.simulation.scheduling.amounts import Amounts, requests_of
from kapstan.simulation.scheduling.filters import insufficient, node_reasons
from kapstan.simulation.scheduling.ledger import Ledger, Room

__all__ = ("Scheduler",)

_NAME = "default-scheduler"
_ENOUGH = 100  # nodes that would do, among which the emptiest is taken


def _waits(change: Change) -> bool:
    """A pod that is ours to place."""
    if change.new is None or change.new.deleting:
        return False
    spec = brief(change.new).spec
    return not spec.node_name and spec.scheduler_name in ("", _NAME)


def _makes_room(change: Change) -> bool:
    """A pod that has left its node."""
    if change.old is None or not brief(change.old).spec.node_name:
        return False
    return change.new is None or (brief(change.new).finished and not brief(change.old).finished)


def _matters(change: Change) -> bool:
    """A node that may take what it did not take before."""
    if change.old is None or change.new is None:
        return change.new is not None
    old, new = change.old.decode(Node), change.new.decode(Node)
    return (old.spec, old.metadata.labels, old.status.allocatable) != (
        new.spec,
        new.metadata.labels,
        new.status.allocatable,
    )


@controller(Pod, name="scheduler", when=_waits, reads=[Node], max_concurrent_reconciles=8)
class Scheduler(Reconciler[Pod]):
    """Binds pods to nodes."""

    def __init__(self) -> None:
        self._homeless: dict[ObjectKey, None] = {}  # tried in the order in which they failed

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.client.cache.factory)

    @watches(Node, when=_matters)
    def when_nodes_change(self, node: Node) -> Iterable[Request]:
        return list(self._homeless)

    @watches(Pod, when=_makes_room)
    def when_pods_leave(self, pod: Pod) -> Iterable[Request]:
        return list(self._homeless)

    async def reconcile(self, pod: Pod) -> None:
        self._homeless.pop(pod.key, None)
        if pod.spec.node_name or pod.deleting or pod.spec.scheduling_gates:
            return
        requests = requests_of(pod.spec)
        room, reasons = self._place(pod, requests)
        if room is None:
            self._homeless[pod.key] = None
            await self._say_why(pod, reasons)
            return
        self.ledger.assume(pod.key, room.name, requests)
        try:
            await self._bind(pod, room.name)
        except (NotFound, Conflict):
            self.ledger.forget(pod.key)  # gone, or bound by somebody else: the watch says which
        except BaseException:
            self.ledger.forget(pod.key)
            raise

    def _place(self, pod: Pod, requests: Amounts) -> tuple[Room | None, Counter[str]]:
        """The best node, or why there is none."""
        fitting: list[Room] = []
        reasons: Counter[str] = Counter()
        for room in self.ledger.rooms():
            reason = node_reasons(pod, room.name, room.labels, room.taints, room.cordoned)
            if reason:
                reasons[reason] += 1
            elif room.lacks(requests):
                reasons.update(insufficient(requests, room.free))
            else:
                fitting.append(room)
                if len(fitting) == _ENOUGH:
                    break
        return min(fitting, key=Room.fullness, default=None), reasons

    async def _bind(self, pod: Pod, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        # As a dictionary, for the answer is no Binding but a Status.
        await self.client.create(binding, parent=pod, subresource="binding")

    async def _say_why(self, pod: Pod, reasons: Counter[str]) -> None:
        message = _explained(len(self.ledger), reasons)
        known = condition(pod, "PodScheduled")
        if known is not None and (known.status, known.message) == ("False", message):
            return
        news = PodCondition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message=message,
            last_transition_time=now() if known is None or known.status != "False" else known.last_transition_time,
        )
        self.events.warning(pod, "FailedScheduling", message)
        others = [one for one in pod.status.conditions if one.type != "PodScheduled"]
        patch = Patch.merge({"status": {"conditions": to_builtins([*others, news])}})
        await self.client.patch(pod, patch, subresource="status")


def _explained(nodes: int, reasons: Counter[str]) -> str:
    if not nodes:
        return "no nodes available to schedule pods"
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."
