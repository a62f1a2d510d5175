"""What a pod uses: the requests and limits of its containers together, or its own, and what running it costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from kapstan.apiserver.admission.quota.amounts import Amounts, largest, parsed, total
from kapstan.apiserver.strategy.resources import is_huge_page, is_native, is_pod_level
from kapstan.machinery.quantity import Quantity

__all__ = ("charged", "compute_usage", "has_pod_level_resources", "is_charged", "pod_limits", "pod_requests")

Object = dict[str, Any]
Part = Literal["limits", "requests"]

_ONE = Quantity(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_ENDED = ("Failed", "Succeeded")
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


def charged(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Amounts:
    """What such requests and limits are called in quotas."""
    found: Amounts = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            found[name] = found[f"requests.{name}"] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if is_huge_page(name):
            found[name] = amount
        if is_huge_page(name) or not is_native(name) or name.startswith(_DEVICE_CLASS):
            found[f"requests.{name}"] = amount
    return found


def compute_usage(pod: Object) -> Amounts:
    return charged(pod_requests(pod), pod_limits(pod))


def is_charged(pod: Object, now: datetime | None = None) -> bool:
    """Whether a pod still counts: not when it has ended, nor when it should be gone long since."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return (now or datetime.now(UTC)) <= datetime.fromisoformat(deleted) + timedelta(seconds=grace)


def has_pod_level_resources(spec: Object) -> bool:
    resources = spec.get("resources") or {}
    return any(is_pod_level(name) for part in ("requests", "limits") for name in resources.get(part) or ())


def pod_requests(pod: Object) -> Amounts:
    spec = pod["spec"]
    found = _of_containers(pod, "requests")
    found |= _of_pod(spec, "requests")
    return total((found, parsed(spec.get("overhead"))))


def pod_limits(pod: Object) -> Amounts:
    spec = pod["spec"]
    found = _of_containers(pod, "limits")
    found |= _of_pod(spec, "limits")
    overhead = parsed(spec.get("overhead"))
    return {name: amount + overhead[name] if amount and name in overhead else amount for name, amount in found.items()}


def _of_pod(spec: Object, part: Part) -> Amounts:
    asked = parsed((spec.get("resources") or {}).get(part))
    return {name: amount for name, amount in asked.items() if is_pod_level(name)}


def _of_containers(pod: Object, part: Part) -> Amounts:
    """Init containers run one after the other before the rest; those that are restarted run beside it."""
    spec, status = pod["spec"], pod.get("status") or {}
    states = {
        one["name"]: one
        for field in ("containerStatuses", "initContainerStatuses")
        for one in status.get(field) or ()
        if one.get("resources") is not None
    }
    infeasible = _is_infeasible(status)
    used = total(_of_container(one, states, part, infeasible) for one in spec.get("containers") or ())
    beside: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            amounts = _of_container(container, states, part, infeasible)
            used, beside = total((used, amounts)), total((beside, amounts))
            peak = largest((peak, beside))
        else:
            peak = largest((peak, total((_of_container(container, {}, part, infeasible), beside))))
    return largest((used, peak))


def _of_container(container: Object, states: Mapping[str, Object], part: Part, infeasible: bool) -> Amounts:
    """What it asks for or, while it is being resized, what it has, whichever is more."""
    asked = parsed((container.get("resources") or {}).get(part))
    state = states.get(container["name"])
    if state is None:
        return asked
    has = [parsed(state["resources"].get(part))]
    if part == "requests":
        has.append(parsed(state.get("allocatedResources")))
    return largest(has if infeasible else [asked, *has])


def _is_infeasible(status: Object) -> bool:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False
