"""The node of a machine: the one that says the same providerID. It gets labels, annotations and taints of the machine.

Without a connection to the workload cluster nothing is known, and nothing fails: the connection wakes the machine, and
so does the node when it appears.
"""

from __future__ import annotations

from kapstan.cluster.api.core import MachineDeployment, MachineSet
from kapstan.cluster.api.core.machine import NodeInfo, NodeReference
from kapstan.cluster.core.machine.nodesync import sync
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.remote.connection import Connection
from kapstan.cluster.remote.health import NotConnected
from kapstan.cluster.skeleton import labels
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.errors import KapstanError
from kapstan.runtime.reconcile import Outcome

__all__ = ("AmbiguousNode", "is_outdated", "reconcile_node")


class AmbiguousNode(KapstanError):
    """Several nodes say that they are the same computer."""


async def reconcile_node(scope: Scope) -> Outcome:
    machine = scope.machine
    if machine.spec.provider_id is None:
        return None
    try:
        connection = scope.clusters.connection(scope.cluster.key)
    except NotConnected as error:
        scope.node_error = error
        return None
    node = scope.node = _find(scope, connection, machine.spec.provider_id)
    if node is None:
        return None
    if machine.status.node_ref is None:
        machine.status.node_ref = NodeReference(name=node.name)
        scope.events.normal(machine, "SuccessfulSetNodeRef", node.name)
    if node.status.node_info is not None:
        machine.status.node_info = convert(to_builtins(node.status.node_info), NodeInfo)
    await _sync(scope, connection, node)
    return None


def _find(scope: Scope, connection: Connection, provider_id: str) -> Node | None:
    nodes = connection.nodes_of(provider_id)
    if len(nodes) > 1:
        names = ", ".join(node.name for node in nodes)
        error = AmbiguousNode(f"several Nodes have spec.providerID {provider_id}: {names}; delete those that are not")
        scope.node_error = error
        raise error
    return nodes[0] if nodes else None


async def _sync(scope: Scope, connection: Connection, node: Node) -> None:
    found = scope.infrastructure.found if scope.infrastructure is not None else None
    interruptible = found is not None and found.interruptible
    had_label = labels.INTERRUPTIBLE in node.metadata.labels
    outdated = is_outdated(scope.machine_set, scope.machine_deployment)
    async with connection.client.edit(node, optimistic_lock=True) as draft:
        sync(draft, scope.machine, interruptible=interruptible, outdated=outdated)
    scope.node = draft
    if interruptible and not had_label:
        scope.events.normal(scope.machine, "SuccessfulSetInterruptibleNodeLabel", node.name)


def is_outdated(machine_set: MachineSet | None, deployment: MachineDeployment | None) -> bool:
    """Whether a machine's set is of an older revision than its deployment: new pods had better go elsewhere."""
    if machine_set is None or deployment is None:
        return False
    return _revision(machine_set) < _revision(deployment)


def _revision(obj: MachineSet | MachineDeployment) -> int:
    text = obj.metadata.annotations.get(labels.REVISION, "0")
    return int(text) if text.isdecimal() else 0
