"""What a node has from its machine."""

from __future__ import annotations

from typing import Any

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machine.nodesync import sync
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.codec import convert, to_builtins

REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Generic", "name": "x"}


def a_machine(taints: list[dict[str, str]] | None = None, **metadata: Any) -> Machine:
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REF} | ({"taints": taints} if taints else {})
    return convert({"metadata": {"name": "m", "namespace": "n", **metadata}, "spec": spec}, Machine)


def a_node(taints: list[dict[str, str]] | None = None, **metadata: Any) -> Node:
    return convert({"metadata": {"name": "node", **metadata}, "spec": {"taints": taints or []}}, Node)


def synced(node: Node, machine: Machine, *, interruptible: bool = False, outdated: bool = False) -> Node:
    sync(node, machine, interruptible=interruptible, outdated=outdated)
    return node


def taints_of(node: Node) -> list[str]:
    return [f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in node.spec.taints]


def always(key: str, value: str = "v", propagation: str = "Always") -> dict[str, str]:
    return {"key": key, "value": value, "effect": "NoSchedule", "propagation": propagation}


def test_a_node_says_which_machine_it_is() -> None:
    owner = {"apiVersion": "x/v1", "kind": "MachineSet", "name": "s", "uid": "u", "controller": True}
    node = synced(a_node(annotations={"mine": "x"}), a_machine(ownerReferences=[owner]))
    assert node.metadata.annotations == {
        "mine": "x",
        "cluster.x-k8s.io/cluster-name": "c",
        "cluster.x-k8s.io/cluster-namespace": "n",
        "cluster.x-k8s.io/machine": "m",
        "cluster.x-k8s.io/owner-kind": "MachineSet",
        "cluster.x-k8s.io/owner-name": "s",
        "cluster.x-k8s.io/labels-from-machine": "",
        "cluster.x-k8s.io/annotations-from-machine": "",
        "cluster.x-k8s.io/taints-from-machine": "",
    }


def test_only_labels_about_nodes_are_copied() -> None:
    labels = {
        "node-role.kubernetes.io/worker": "",
        "x.node-role.kubernetes.io/worker": "no",
        "node-restriction.kubernetes.io/a": "1",
        "sub.node-restriction.kubernetes.io/a": "2",
        "node.cluster.x-k8s.io/b": "3",
        "sub.node.cluster.x-k8s.io/b": "4",
        "cluster.x-k8s.io/cluster-name": "c",
    }
    node = synced(a_node(), a_machine(labels=labels))
    copied = [
        name for name in labels if name not in ("x.node-role.kubernetes.io/worker", "cluster.x-k8s.io/cluster-name")
    ]
    assert sorted(node.metadata.labels) == sorted(copied)
    assert node.metadata.annotations["cluster.x-k8s.io/labels-from-machine"] == ",".join(sorted(copied))


def test_what_the_machine_no_longer_has_goes() -> None:
    before = a_machine(labels={"node.cluster.x-k8s.io/a": "1"}, annotations={"node.cluster.x-k8s.io/n": "1"})
    node = synced(a_node(labels={"mine": "x"}), before)
    synced(node, a_machine())
    assert node.metadata.labels == {"mine": "x"}
    assert "node.cluster.x-k8s.io/n" not in node.metadata.annotations


def test_nothing_changes_when_nothing_has_changed() -> None:
    """A level-triggered reconcile must not write each time."""
    machine = a_machine(
        [always("a"), always("b", propagation="OnInitialization")], labels={"node.cluster.x-k8s.io/a": ""}
    )
    node = synced(a_node(), machine, interruptible=True, outdated=True)
    before = to_builtins(node)
    assert to_builtins(synced(node, machine, interruptible=True, outdated=True)) == before


def test_interruptible_computers_are_labelled() -> None:
    node = synced(a_node(), a_machine(), interruptible=True)
    assert node.metadata.labels == {"cluster.x-k8s.io/interruptible": ""}
    assert synced(node, a_machine()).metadata.labels == {}


def test_a_node_whose_labels_are_set_is_no_longer_uninitialized() -> None:
    taint = {"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}
    assert taints_of(synced(a_node([taint, {"key": "other", "effect": "NoExecute"}]), a_machine())) == [
        "other=:NoExecute"
    ]


def test_outdated_nodes_are_tainted_as_long_as_they_are() -> None:
    node = synced(a_node(), a_machine(), outdated=True)
    assert taints_of(node) == ["node.cluster.x-k8s.io/outdated-revision=:PreferNoSchedule"]
    assert taints_of(synced(node, a_machine())) == []


def test_taints_are_kept_or_set_once() -> None:
    """Always: as the machine has it. OnInitialization: set when the node is first seen, then left to its users."""
    node = synced(a_node([always("foreign")]), a_machine([always("a"), always("b", propagation="OnInitialization")]))
    assert taints_of(node) == ["foreign=v:NoSchedule", "a=v:NoSchedule", "b=v:NoSchedule"]
    node.spec.taints = [taint for taint in node.spec.taints if taint.key == "foreign"]
    synced(node, a_machine([always("a", "w"), always("b", propagation="OnInitialization")]))
    assert taints_of(node) == ["foreign=v:NoSchedule", "a=w:NoSchedule"]
    synced(node, a_machine())
    assert taints_of(node) == ["foreign=v:NoSchedule"]
