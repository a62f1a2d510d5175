"""Index: which machines something is about: a cluster, a node, a set, a deployment."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from kapstan.cluster.api.core import Machine
from kapstan.cluster.skeleton import labels
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.labels import from_labels
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.snapshot import Snapshot

__all__ = ("MachineIndex",)

_NAME = "machine"


class MachineIndex:
    """Finds machines in the cache."""

    def __init__(self, machines: SharedInformer) -> None:
        self._store = machines.store
        self._store.add_index(_NAME, _values)

    def of_cluster(self, cluster: ObjectKey) -> list[ObjectKey]:
        """By what they say themselves: a machine that nobody has looked at yet has no label."""
        return self._found(f"cluster {cluster}")

    def of_node(self, cluster: ObjectKey, node: Snapshot) -> list[ObjectKey]:
        """The machine that a node belongs to, or will belong to."""
        provider_id = _read_node(node.data).spec.provider_id
        by_id = self._found(f"node {cluster} {provider_id}") if provider_id else []
        return by_id or self._found(f"name {cluster} {node.name}")

    def of_set(self, uid: str) -> list[ObjectKey]:
        return [snapshot.key for snapshot in self._store.owned_by(uid)]

    def of_deployment(self, deployment: ObjectKey) -> list[ObjectKey]:
        selector = from_labels({labels.DEPLOYMENT_NAME: deployment.name})
        return [snapshot.key for snapshot in self._store.select(deployment.namespace, selector)]

    def going(self, namespace: str) -> list[ObjectKey]:
        """Machines that are being deleted."""
        return [snapshot.key for snapshot in self._store.select(namespace) if snapshot.deleting]

    def _found(self, value: str) -> list[ObjectKey]:
        return [snapshot.key for snapshot in self._store.by_index(_NAME, value)]


def _values(snapshot: Snapshot) -> Iterable[str]:
    machine: Machine = snapshot.decode(Machine)
    cluster = ObjectKey(machine.namespace, machine.spec.cluster_name)
    yield f"cluster {cluster}"
    if machine.spec.provider_id:
        yield f"node {cluster} {machine.spec.provider_id}"
    if machine.status.node_ref is not None:
        yield f"name {cluster} {machine.status.node_ref.name}"


class _NodeSpec(Struct, rename="camel"):
    provider_id: str = field(default="", name="providerID")


class _Node(Struct):
    spec: _NodeSpec = field(default_factory=_NodeSpec)


_read_node = msgspec.json.Decoder(_Node).decode
