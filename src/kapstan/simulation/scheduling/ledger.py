"""Ledger: what each node has and what the pods on it have taken, kept current by two listeners.

A pod that was just bound counts at once, before the watch says so: otherwise two pods could take the same room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kapstan.k8s.core_v1 import Node, Pod, PodSpec, Taint
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.snapshot import Snapshot
from kapstan.simulation.pods import brief
from kapstan.simulation.scheduling.amounts import Amounts, amounts_of, requests_of, scored_requests

__all__ = ("Ledger", "Room")


class Room:
    """A node as the scheduler sees it."""

    __slots__ = ("allocatable", "cordoned", "labels", "name", "scored", "taints", "taken")

    def __init__(self, name: str) -> None:
        self.name = name
        self.allocatable: Amounts = {}
        self.labels: dict[str, str] = {}
        self.taints: list[Taint] = []
        self.cordoned = False
        self.taken: Amounts = {}
        self.scored: Amounts = {}

    def describe(self, node: Node) -> None:
        self.allocatable = amounts_of(node.status.allocatable)
        self.labels, self.taints = node.metadata.labels, node.spec.taints
        self.cordoned = bool(node.spec.unschedulable)

    @property
    def free(self) -> Amounts:
        return {name: amount - self.taken.get(name, 0) for name, amount in self.allocatable.items()}

    def lacks(self, requests: Amounts) -> bool:
        allocatable, taken = self.allocatable, self.taken
        return any(
            amount and amount > allocatable.get(name, 0) - taken.get(name, 0) for name, amount in requests.items()
        )

    def fullness(self) -> tuple[float, int]:
        """How full it is, to be compared: by the scarcer of CPU and memory, then by pods."""
        parts = [taken / (self.allocatable.get(name) or 1) for name, taken in self.scored.items()]
        return max(parts, default=0.0), self.taken.get("pods", 0)

    def take(self, requests: Amounts, sign: int = 1) -> None:
        for name, amount in requests.items():
            self.taken[name] = self.taken.get(name, 0) + sign * amount
        for name, amount in scored_requests(requests).items():
            self.scored[name] = self.scored.get(name, 0) + sign * amount


class Ledger:
    """All nodes, and where each pod is."""

    def __init__(self, informers: InformerFactory) -> None:
        self._known: dict[str, Room] = {}  # also nodes that pods name though they do not exist
        self._present: dict[str, Room] = {}
        self._pods: dict[ObjectKey, tuple[str, Amounts]] = {}
        self._order: list[Room] = []
        self._next = 0
        self._stops: list[Callable[[], None]] = [
            informers.shared(Node).listen(self._on_node),
            informers.shared(Pod).listen(self._on_pod),
        ]

    def close(self) -> None:
        for stop in self._stops:
            stop()

    def __len__(self) -> int:
        return len(self._present)

    def rooms(self) -> Iterator[Room]:
        """Every node once, beginning where the last search ended."""
        order, start = self._order, self._next
        for position in range(start, start + len(order)):
            self._next = (position + 1) % len(order)
            yield order[position % len(order)]

    def assume(self, key: ObjectKey, node: str, requests: Amounts) -> None:
        """The pod is as good as there."""
        self.forget(key)
        self._pods[key] = (node, requests)
        self._room(node).take(requests)

    def forget(self, key: ObjectKey) -> None:
        """The pod is gone, has ended, or did not get there."""
        held = self._pods.pop(key, None)
        if held is not None:
            self._room(held[0]).take(held[1], -1)

    def _room(self, name: str) -> Room:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = Room(name)
        return found

    def _on_node(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is not None:
            room = self._room(new.name)
            room.describe(new.decode(Node))
            if new.name not in self._present:
                self._present[new.name] = room
                self._order.append(room)
        elif old is not None and (gone := self._present.pop(old.name, None)) is not None:
            self._order.remove(gone)
            self._next = 0

    def _on_pod(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        if new is None:
            if old is not None:
                self.forget(old.key)
            return
        glance = brief(new)
        node = glance.spec.node_name
        if not node:
            return
        if glance.finished:
            self.forget(new.key)
        elif (held := self._pods.get(new.key)) is None or held[0] != node:
            spec: PodSpec = new.decode(Pod).spec
            self.assume(new.key, node, requests_of(spec))
