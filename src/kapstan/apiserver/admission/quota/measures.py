"""Measures: what an object of each kind counts for, under which names, and which scopes it is in.

Any kind can be counted as `count/<resource>.<group>`. A few have older names as well, and some use more than a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kapstan.apiserver.admission.quota import podusage, scopes
from kapstan.apiserver.admission.quota.amounts import Amounts, parsed
from kapstan.apiserver.strategy.resources import is_native
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.quantity import Quantity

__all__ = ("Measure", "count_name", "measure_of", "measures_for")

Object = dict[str, Any]

_ONE = Quantity(1)
_NOTHING = Quantity(0)
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_DEVICES = ".deviceclass.resource.k8s.io/devices"
_ALL_DEVICES = 32  # what a claim of all devices may get at most
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")
_POD_NAMES = frozenset(
    ["pods"]
    + [f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")]
)
_REQUIRED = frozenset(f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory"))
_IGNORED = frozenset(
    [GroupResource("", "bindings"), GroupResource("", "componentstatuses")]
    + [GroupResource(group, "events") for group in ("", "events.k8s.io")]
    + [GroupResource("authentication.k8s.io", name) for name in ("tokenreviews", "selfsubjectreviews")]
    + [
        GroupResource("authorization.k8s.io", name)
        for name in (
            "subjectaccessreviews",
            "selfsubjectaccessreviews",
            "localsubjectaccessreviews",
            "selfsubjectrulesreviews",
        )
    ]
)


def count_name(resource: GroupResource) -> str:
    return f"count/{resource.resource}.{resource.group}" if resource.group else f"count/{resource.resource}"


class Measure:
    """Counts the objects of one kind."""

    weighs = False  # whether objects differ in what they use; else their number is enough

    def __init__(self, resource: GroupResource, *aliases: str) -> None:
        self.resource = resource
        self.names = frozenset((count_name(resource), *aliases))

    def handles(self, operation: str, subresource: str) -> bool:
        """Whether such a write can change what is used."""
        return operation == "CREATE" and not subresource

    def changes(self, obj: Object, old: Object) -> bool:
        """Whether an update that was stored may have set something free."""
        return False

    def charges_update(self, obj: Object, old: Object, subresource: str) -> bool:
        """Whether an update has to be looked at."""
        return True

    def covers(self, name: str) -> bool:
        return name in self.names

    def covered(self, names: Iterable[str]) -> list[str]:
        """Which of these names this measures."""
        return sorted(name for name in names if self.covers(name))

    def in_scope(self, requirement: Object, obj: Object) -> bool:
        return False

    def missing(self, required: Iterable[str], obj: Object) -> str:
        """What an object has to say before it can be measured; "" if it says everything."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        return dict.fromkeys(self.names, _ONE)


class _Pods(Measure):
    weighs = True

    def handles(self, operation: str, subresource: str) -> bool:
        if subresource == "resize":
            return operation == "UPDATE"
        return not subresource

    def charges_update(self, obj: Object, old: Object, subresource: str) -> bool:
        return subresource == "resize" or scopes.is_terminating(obj) != scopes.is_terminating(old)

    def changes(self, obj: Object, old: Object) -> bool:
        if scopes.is_terminating(obj) != scopes.is_terminating(old) or _states(obj) != _states(old):
            return True
        return podusage.is_charged(old) and not podusage.is_charged(obj)

    def covers(self, name: str) -> bool:
        return (
            name in self.names
            or name in _POD_NAMES
            or name.startswith(_HUGE_PAGES)
            or (name.startswith("requests.") and not is_native(name))
            or name.startswith("requests.deviceclass.resource.kubernetes.io/")
        )

    def in_scope(self, requirement: Object, obj: Object) -> bool:
        return scopes.pod_in_scope(requirement, obj)

    def missing(self, required: Iterable[str], obj: Object) -> str:
        spec = obj["spec"]
        if podusage.has_pod_level_resources(spec):
            return ""
        without: dict[str, set[str]] = {}
        wanted = _REQUIRED.intersection(required)
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            has = podusage.charged(parsed(resources.get("requests")), parsed(resources.get("limits")))
            for name in wanted - has.keys():
                without.setdefault(name, set()).add(container["name"])
        if not without:
            return ""
        texts = (f"{name} for: {','.join(sorted(without[name]))}" for name in sorted(without))
        return f"must specify {'; '.join(texts)}"

    def usage(self, obj: Object) -> Amounts:
        counted = super().usage(obj)
        return counted | podusage.compute_usage(obj) if podusage.is_charged(obj) else counted


def _states(pod: Object) -> dict[str, Any]:
    status = pod.get("status") or {}
    fields = ("containerStatuses", "initContainerStatuses")
    return {one["name"]: one.get("resources") for field in fields for one in status.get(field) or ()}


class _Services(Measure):
    weighs = True

    def handles(self, operation: str, subresource: str) -> bool:
        return not subresource

    def changes(self, obj: Object, old: Object) -> bool:
        return _outer_type(obj) != _outer_type(old)

    def usage(self, obj: Object) -> Amounts:
        spec = obj["spec"]
        ports = spec.get("ports") or ()
        kind, node_ports = spec.get("type"), 0
        if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False):
            node_ports = len(ports)
        elif kind == "LoadBalancer":
            node_ports = sum(bool(port.get("nodePort")) for port in ports)
        balancers = int(kind == "LoadBalancer")
        return {
            count_name(self.resource): _ONE,
            "services": _ONE,
            "services.loadbalancers": Quantity(balancers),
            "services.nodeports": Quantity(node_ports),
        }


def _outer_type(service: Object) -> str:
    kind = str(service["spec"].get("type") or "")
    return kind if kind in ("NodePort", "LoadBalancer") else ""


class _Claims(Measure):
    """Claims of storage; they count for their storage class as well."""

    weighs = True

    def handles(self, operation: str, subresource: str) -> bool:
        return not subresource or (subresource == "status" and operation == "UPDATE")

    def charges_update(self, obj: Object, old: Object, subresource: str) -> bool:
        return not subresource or self.changes(obj, old)

    def changes(self, obj: Object, old: Object) -> bool:
        return _allocated(obj) != _allocated(old) or scopes.attributes_classes(obj) != scopes.attributes_classes(old)

    def covers(self, name: str) -> bool:
        kinds = ("persistentvolumeclaims", "requests.storage")
        return name in self.names or name in kinds or name.endswith(tuple(_STORAGE_CLASS + kind for kind in kinds))

    def in_scope(self, requirement: Object, obj: Object) -> bool:
        return scopes.claim_in_scope(requirement, obj)

    def usage(self, obj: Object) -> Amounts:
        used: Amounts = {count_name(self.resource): _ONE}
        plain: Amounts = {"persistentvolumeclaims": _ONE}
        requested = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage")
        if requested is not None:
            storage = max(_whole(Quantity(requested)), _whole(_allocated(obj)))
            plain["requests.storage"] = storage
        used |= plain
        name = _storage_class(obj)
        return used | {f"{name}{_STORAGE_CLASS}{kind}": amount for kind, amount in plain.items()} if name else used


def _storage_class(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get("volume.beta.kubernetes.io/storage-class") or claim["spec"].get("storageClassName") or ""


def _allocated(claim: Object) -> Quantity:
    return Quantity(((claim.get("status") or {}).get("allocatedResources") or {}).get("storage", "0"))


def _whole(amount: Quantity) -> Quantity:
    return amount if amount.value == int(amount) else Quantity(int(amount), amount.format)


class _DeviceClaims(Measure):
    """Claims of devices, of which each class can be limited."""

    weighs = True

    def handles(self, operation: str, subresource: str) -> bool:
        return not subresource

    def covers(self, name: str) -> bool:
        return name in self.names or name.endswith(_DEVICES)

    def usage(self, obj: Object) -> Amounts:
        used = super().usage(obj)
        for request in ((obj["spec"].get("devices")) or {}).get("requests") or ():
            for name, count in _devices(request).items():
                used[name] = used.get(name, _NOTHING) + count
        return used


def _devices(request: Object) -> dict[str, int]:
    """How many devices of each class one request can get."""
    found: dict[str, int] = {}
    for one in request.get("firstAvailable") or ([request["exactly"]] if request.get("exactly") else ()):
        name = f"{one['deviceClassName']}{_DEVICES}"
        count = _ALL_DEVICES if one.get("allocationMode") == "All" else int(one.get("count") or 0)
        found[name] = max(found.get(name, 0), count)
    return found


_SPECIAL: Mapping[GroupResource, Measure] = {
    measure.resource: measure
    for measure in (
        _Pods(GroupResource("", "pods")),
        _Services(GroupResource("", "services"), "services", "services.nodeports", "services.loadbalancers"),
        _Claims(GroupResource("", "persistentvolumeclaims")),
        _DeviceClaims(GroupResource("resource.k8s.io", "resourceclaims")),
        *(
            Measure(GroupResource("", name), name)
            for name in ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
        ),
    )
}


def measure_of(resource: GroupResource) -> Measure | None:
    """The measure of a kind; None for what no quota counts."""
    if resource in _IGNORED:
        return None
    return _SPECIAL.get(resource) or Measure(resource)


def measures_for(names: Iterable[str], is_served: Callable[[GroupResource], bool]) -> list[Measure]:
    """The measures that it takes to fill in these names of a quota."""
    wanted = list(names)
    found = [measure for measure in _SPECIAL.values() if any(map(measure.covers, wanted))]
    for name in wanted:
        resource, _, group = name.removeprefix("count/").partition(".")
        counted = GroupResource(group, resource)
        if name.startswith("count/") and counted not in _SPECIAL and is_served(counted):
            measure = measure_of(counted)
            found += [measure] if measure is not None else []
    return found
