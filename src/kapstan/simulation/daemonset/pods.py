"""Pods: the pod of a DaemonSet for one node, and which nodes have one. Pure."""

from __future__ import annotations

from kapstan.k8s.apps_v1 import DaemonSet
from kapstan.k8s.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Toleration,
)
from kapstan.simulation.scheduling.filters import affinity_admits, untolerated
from kapstan.simulation.templates import hash_of, pod_of

__all__ = ("REVISION_HASH", "desired_pod", "may_stay", "node_of", "pattern_of", "revision_of", "should_run")

REVISION_HASH = "controller-revision-hash"
_FIELD = "metadata.name"
_NODE = "node.kubernetes.io/"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def revision_of(daemon_set: DaemonSet) -> str:
    return hash_of(daemon_set.spec.template, daemon_set.status.collision_count)


def pattern_of(daemon_set: DaemonSet) -> Pod:
    """The pod of every node, before it is meant for one: it stays where it is whatever happens to the node."""
    pod = pod_of(daemon_set.spec.template, daemon_set)
    generation = str(daemon_set.metadata.generation)
    pod.metadata.labels |= {REVISION_HASH: revision_of(daemon_set), "pod-template-generation": generation}
    tolerated = [*_TOLERATED, *([("network-unavailable", "NoSchedule")] if pod.spec.host_network else [])]
    pod.spec.tolerations = [
        *pod.spec.tolerations,
        *(Toleration(key=_NODE + key, operator="Exists", effect=effect) for key, effect in tolerated),
    ]
    return pod


def desired_pod(pattern: Pod, node: str) -> Pod:
    """A pod that the scheduler can bind to that node only."""
    spec = pattern.spec.replace(affinity=_only_on(pattern.spec.affinity or Affinity(), node))
    return pattern.replace(spec=spec)


def node_of(pod: Pod) -> str:
    """The node that a pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for one in term.match_fields:
            if one.key == _FIELD and one.values:
                return one.values[0]
    return ""


def should_run(pattern: Pod, node: Node) -> bool:
    """Whether the node gets a pod."""
    return affinity_admits(pattern, node.name, node.metadata.labels) and (
        untolerated(node.spec.taints, pattern.spec.tolerations) is None
    )


def may_stay(pattern: Pod, node: Node) -> bool:
    """Whether a pod that is there is left there: taints that only keep new ones away do not count."""
    return affinity_admits(pattern, node.name, node.metadata.labels) and (
        untolerated(node.spec.taints, pattern.spec.tolerations, ("NoExecute",)) is None
    )


def _only_on(affinity: Affinity, node: str) -> Affinity:
    here = NodeSelectorRequirement(key=_FIELD, operator="In", values=[node])
    wishes = affinity.node_affinity or NodeAffinity()
    required = wishes.required_during_scheduling_ignored_during_execution
    terms = (
        required.node_selector_terms if required is not None and required.node_selector_terms else [NodeSelectorTerm()]
    )
    narrowed = NodeSelector(node_selector_terms=[term.replace(match_fields=[here]) for term in terms])
    return affinity.replace(node_affinity=wishes.replace(required_during_scheduling_ignored_during_execution=narrowed))
