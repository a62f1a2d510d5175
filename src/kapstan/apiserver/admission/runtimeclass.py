"""Runtime classes: what a pod's runtime costs and where it can run is written in the class, not in the pod."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.quantity import Quantity

__all__ = ("RuntimeClassAdmission",)

_PODS = GroupResource("", "pods")
_CLASSES = GroupResource("node.k8s.io", "runtimeclasses")

Object = dict[str, Any]


class RuntimeClassAdmission(Plugin):
    """A pod's class must be there; the pod gets its overhead, its node selector and its tolerations."""

    targets = Targets(("CREATE",), (_PODS,))

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def admit(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        found = self._class(attributes, spec)
        if found is None:
            return
        if (overhead := _overhead(found)) is not None:
            if spec.get("overhead") and not _same(overhead, spec["overhead"]):
                raise refused(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            _set(spec, "overhead", overhead)
        if (scheduling := found.get("scheduling")) is not None:
            _set(spec, "nodeSelector", _node_selector(attributes, spec, scheduling.get("nodeSelector") or {}))
            _set(spec, "tolerations", _merged(spec.get("tolerations") or [], scheduling.get("tolerations") or []))

    async def validate(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        found = self._class(attributes, spec)
        overhead = _overhead(found) if found is not None else None
        if overhead is None:
            if spec.get("overhead"):
                why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                raise refused(attributes, why)
        elif not _same(overhead, spec.get("overhead") or {}):
            raise refused(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

    def _class(self, attributes: AdmissionAttributes, spec: Object) -> Object | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        record = self._storage.get(_CLASSES, name)
        if record is None:
            raise refused(attributes, f"pod rejected: RuntimeClass {quote(name)} not found")
        found: Object = codec.decode_any(record.value)
        return found


def _overhead(runtime_class: Object) -> Object | None:
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _same(one: Object, other: Object) -> bool:
    return one.keys() == other.keys() and all(Quantity(one[name]) == Quantity(other[name]) for name in one)


def _set(spec: Object, field: str, value: Any) -> None:
    if value:
        spec[field] = value


def _node_selector(attributes: AdmissionAttributes, spec: Object, wanted: Object) -> Object:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in wanted.items():
        if (own := selector.setdefault(key, value)) != value:
            why = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            raise refused(attributes, f"conflict: {why}")
    return selector


def _merged(first: list[Object], second: list[Object]) -> list[Object]:
    """All tolerations but those that another one covers; of equal ones the first."""
    every = [*first, *second]
    merged: list[Object] = []
    for position, one in enumerate(every):
        covered = any(_covers(kept, one) for kept in merged)
        if not covered and not any(one != later and _covers(later, one) for later in every[position + 1 :]):
            merged.append(one)
    return merged


def _covers(wide: Object, one: Object) -> bool:
    """Whether whatever the second tolerates, the first does."""
    if wide == one:
        return True
    exists = wide.get("operator") == "Exists"
    if one.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    if wide.get("effect") and one.get("effect", "") != wide["effect"]:
        return False
    if wide.get("effect") == "NoExecute" and (limit := wide.get("tolerationSeconds")) is not None:
        seconds = one.get("tolerationSeconds")
        if seconds is None or seconds > limit:
            return False
    return exists or (one.get("operator") == "Equal" and one.get("value", "") == wide.get("value", ""))
