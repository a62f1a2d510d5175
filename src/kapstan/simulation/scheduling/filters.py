"""Filters: why a pod cannot run on a node. In kube-scheduler's words, since people search for them.

Considered are cordons, taints, node selectors, required node affinity and resources; affinity between pods
and topology spread are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kapstan.k8s.core_v1 import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint, Toleration
from kapstan.simulation.scheduling.amounts import Amounts

__all__ = ("affinity_admits", "insufficient", "node_reasons", "tolerates", "untolerated")

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def node_reasons(pod: Pod, name: str, labels: Mapping[str, str], taints: Sequence[Taint], cordoned: bool) -> str:
    """Why the node itself is not for the pod; empty if it is."""
    tolerations = pod.spec.tolerations
    if cordoned and not any(tolerates(one, UNSCHEDULABLE) for one in tolerations):
        return "node(s) were unschedulable"
    if untolerated(taints, tolerations) is not None:
        return "node(s) had untolerated taint(s)"
    if not affinity_admits(pod, name, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Sequence[str] = ("NoSchedule", "NoExecute")
) -> Taint | None:
    """The first taint that keeps the pod away."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(one, taint) for one in tolerations):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if (toleration.operator or "Equal") == "Exists":
        return True
    return bool(toleration.key) and (toleration.value or "") == (taint.value or "")


def affinity_admits(pod: Pod, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the pod's node selector and required node affinity allow a node."""
    if not pod.spec.node_selector.items() <= labels.items():
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is None or _selects(required, name, labels)


def insufficient(requests: Amounts, free: Mapping[str, int]) -> list[str]:
    """What the node has too little of."""
    short = [name for name, amount in requests.items() if amount and amount > free.get(name, 0)]
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]


def _selects(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    return any(_term_matches(term, name, labels) for term in selector.node_selector_terms)


def _term_matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": name}
    return all(_matches(one, labels) for one in term.match_expressions) and all(
        _matches(one, fields) for one in term.match_fields
    )


def _matches(requirement: NodeSelectorRequirement, values: Mapping[str, str]) -> bool:
    value = values.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _number(value) is not None and (_number(value) or 0) > int(requirement.values[0])
        case "Lt":
            return _number(value) is not None and (_number(value) or 0) < int(requirement.values[0])
    return False


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
