"""Compute resources of pods: what the containers of a pod need together, and which class of service that makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from kapstan.machinery.quantity import Quantity

__all__ = (
    "aggregate",
    "is_huge_page",
    "is_native",
    "is_overcommitted",
    "is_pod_level",
    "qos_class",
)

Object = dict[str, Any]
Part = Literal["limits", "requests"]

_HUGE_PAGES = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"
_QOS_RESOURCES = ("cpu", "memory")


def is_huge_page(name: str) -> bool:
    return name.startswith(_HUGE_PAGES)


def is_native(name: str) -> bool:
    """Whether a resource is Kubernetes' own, rather than one that a device plugin brings."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_overcommitted(name: str) -> bool:
    """Whether more of it may be limited than is requested."""
    return is_native(name) and not is_huge_page(name)


def is_pod_level(name: str) -> bool:
    """Whether a pod may ask for it as a whole."""
    return name in ("cpu", "memory") or is_huge_page(name)


def aggregate(spec: Object, part: Part) -> dict[str, str]:
    """What all containers of a pod limit or request together.

    Init containers run one after the other before the rest, those that are restarted always run beside it.
    """
    total = _sum(_amounts(container, part) for container in spec.get("containers") or ())
    beside: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, part)
        if container.get("restartPolicy") == "Always":
            total = _sum((total, amounts))
            beside = _sum((beside, amounts))
            amounts = beside
        else:
            amounts = _sum((amounts, beside))
        peak = {name: max(amounts.get(name, _NONE), peak.get(name, _NONE)) for name in {**peak, **amounts}}
    combined = {name: max(total.get(name, _NONE), peak.get(name, _NONE)) for name in {**total, **peak}}
    return {name: amount.canonical() for name, amount in combined.items()}


_NONE = Quantity("0")


def _amounts(container: Object, part: Part) -> dict[str, Quantity]:
    return {name: Quantity(text) for name, text in (container["resources"].get(part) or {}).items()}


def _sum(lists: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def qos_class(pod: Object) -> str:
    """Guaranteed if cpu and memory are limited to what is requested, Burstable if anything is asked for."""
    spec = pod["spec"]
    resources = spec.get("resources")
    holders = [resources] if resources is not None else [container["resources"] for container in _all_containers(spec)]
    asked = [_asked(holder) for holder in holders]
    if not any(requests or limits for requests, limits in asked):
        return "BestEffort"
    total_requests = _sum(requests for requests, _ in asked)
    total_limits = _sum(limits for _, limits in asked)
    limited = all(set(_QOS_RESOURCES) <= limits.keys() for _, limits in asked)
    same = len(total_requests) == len(total_limits) and all(
        total_limits.get(name) == amount for name, amount in total_requests.items()
    )
    return "Guaranteed" if limited and same else "Burstable"


def _asked(resources: Object) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Requests and limits of cpu and memory that are more than nothing."""
    parts = [
        {
            name: amount
            for name, text in (resources.get(part) or {}).items()
            if name in _QOS_RESOURCES and (amount := Quantity(text)) > 0
        }
        for part in ("requests", "limits")
    ]
    return parts[0], parts[1]


def _all_containers(spec: Object) -> list[Object]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
