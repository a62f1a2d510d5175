"""Scopes: which objects a quota is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapstan.apiserver.strategy.resources import qos_class

__all__ = ("attributes_classes", "claim_in_scope", "is_terminating", "pod_in_scope", "requirements")

Object = dict[str, Any]


def requirements(quota: Object) -> list[Object]:
    """What a quota says of its scope, in either of the two ways to say it."""
    spec = quota["spec"]
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return [*plain, *((spec.get("scopeSelector") or {}).get("matchExpressions") or ())]


def is_terminating(pod: Object) -> bool:
    """Whether a pod ends by itself."""
    seconds = pod["spec"].get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def pod_in_scope(requirement: Object, pod: Object) -> bool:
    match requirement["scopeName"]:
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _selected(requirement, pod["spec"].get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _terms(pod))
        case _:
            return False


def _is_best_effort(pod: Object) -> bool:
    return ((pod.get("status") or {}).get("qosClass") or qos_class(pod)) == "BestEffort"


def _terms(pod: Object) -> Iterator[Object]:
    affinity = pod["spec"].get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]


def claim_in_scope(requirement: Object, claim: Object) -> bool:
    if requirement["scopeName"] != "VolumeAttributesClass":
        return False
    return any(_selected(requirement, name) for name in attributes_classes(claim) or [""])


def attributes_classes(claim: Object) -> set[str]:
    """The volume attributes classes that a claim has, wants or is about to get."""
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}


def _selected(requirement: Object, name: str) -> bool:
    """As label selectors decide, of a label that is there unless the name is empty."""
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return bool(name) and name in values
        case "NotIn":
            return not name or name not in values
        case "Exists":
            return bool(name)
        case _:
            return not name
