"""What a node has from its machine: annotations that say which machine it is, labels, annotations and taints. Pure.

What came from the machine is remembered in annotations of the node, so that it goes when the machine no longer has it.
Everything else on the node is somebody else's, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.common import MachineTaint
from kapstan.cluster.skeleton import labels
from kapstan.k8s.core_v1 import Node, Taint

__all__ = ("annotations_for", "labels_for", "sync")

_IDENTITY = (
    labels.NODE_CLUSTER_NAME,
    labels.NODE_CLUSTER_NAMESPACE,
    labels.NODE_MACHINE,
    labels.NODE_OWNER_KIND,
    labels.NODE_OWNER_NAME,
)


def sync(node: Node, machine: Machine, *, interruptible: bool, outdated: bool) -> None:
    """Make a node have what it shall have from its machine."""
    metadata = node.metadata
    wanted = annotations_for(machine)
    before = {*_listed(metadata.annotations, labels.NODE_ANNOTATIONS_FROM_MACHINE), *_IDENTITY}
    metadata.annotations = _synced(metadata.annotations, wanted, before)
    node_labels = labels_for(machine) | ({labels.INTERRUPTIBLE: ""} if interruptible else {})
    before = set(_listed(metadata.annotations, labels.NODE_LABELS_FROM_MACHINE))
    metadata.labels = _synced(metadata.labels, node_labels, before)
    metadata.annotations[labels.NODE_LABELS_FROM_MACHINE] = ",".join(sorted(node_labels))
    others = sorted(name for name in wanted if name not in _IDENTITY)
    metadata.annotations[labels.NODE_ANNOTATIONS_FROM_MACHINE] = ",".join(others)
    _sync_taints(node, machine.spec.taints, outdated)


def labels_for(machine: Machine) -> dict[str, str]:
    """Labels of a machine that are about its node."""
    return {name: value for name, value in machine.metadata.labels.items() if _is_for_node(name)}


def _is_for_node(label: str) -> bool:
    domain = label.split("/")[0]
    below = (labels.NODE_RESTRICTION_DOMAIN, labels.NODE_DOMAIN)
    return domain == labels.NODE_ROLE_DOMAIN or any(domain == one or domain.endswith(f".{one}") for one in below)


def annotations_for(machine: Machine) -> dict[str, str]:
    """Which machine a node is, and annotations of the machine that are about its node."""
    identity = {
        labels.NODE_CLUSTER_NAME: machine.spec.cluster_name,
        labels.NODE_CLUSTER_NAMESPACE: machine.namespace,
        labels.NODE_MACHINE: machine.name,
    }
    owner = machine.controller_ref()
    if owner is not None:
        identity |= {labels.NODE_OWNER_KIND: owner.kind, labels.NODE_OWNER_NAME: owner.name}
    domain = labels.NODE_DOMAIN
    about_node = {
        name: value
        for name, value in machine.metadata.annotations.items()
        if name.split("/")[0] == domain or name.split("/")[0].endswith(f".{domain}")
    }
    return identity | about_node


def _synced(current: Mapping[str, str], wanted: Mapping[str, str], before: Collection[str]) -> dict[str, str]:
    kept = {name: value for name, value in current.items() if name not in before or name in wanted}
    return {**kept, **wanted}


def _listed(annotations: Mapping[str, str], name: str) -> list[str]:
    return [part for part in annotations.get(name, "").split(",") if part]


# --- Taints -----------------------------------------------------------------------------------------------------------


def _sync_taints(node: Node, wanted: list[MachineTaint], outdated: bool) -> None:
    taints = _without(node.spec.taints, labels.UNINITIALIZED)  # its labels are there now
    tracked = node.metadata.annotations.get(labels.NODE_TAINTS_FROM_MACHINE)
    always = {_id(taint) for taint in wanted if taint.propagation == "Always"}
    once = {_id(taint) for taint in wanted if taint.propagation == "OnInitialization"}
    stale = set(_listed(node.metadata.annotations, labels.NODE_TAINTS_FROM_MACHINE)) - always - once
    taints = [taint for taint in taints if _id(taint) not in stale]
    for taint in wanted:
        if taint.propagation == "Always" or tracked is None:
            taints = _with(taints, Taint(key=taint.key, value=taint.value, effect=taint.effect))
    node.metadata.annotations[labels.NODE_TAINTS_FROM_MACHINE] = ",".join(sorted(always))
    if outdated:
        node.spec.taints = _with(taints, labels.OUTDATED_REVISION)
    else:
        node.spec.taints = _without(taints, labels.OUTDATED_REVISION)


def _id(taint: Taint | MachineTaint) -> str:
    return f"{taint.key}:{taint.effect}"


def _without(taints: list[Taint], gone: Taint) -> list[Taint]:
    return [taint for taint in taints if _id(taint) != _id(gone)]


def _with(taints: list[Taint], wanted: Taint) -> list[Taint]:
    """The taint among the others, where it is already or at the end; when it was added stays."""
    if any(_id(taint) == _id(wanted) and (taint.value or "") == (wanted.value or "") for taint in taints):
        return taints
    if any(_id(taint) == _id(wanted) for taint in taints):
        return [wanted if _id(taint) == _id(wanted) else taint for taint in taints]
    return [*taints, wanted]
