"""Small things that every pod gets: a priority, and tolerations that end five minutes after its node failed."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource

__all__ = ("DefaultTolerationSeconds", "Priority")

_PODS = GroupResource("", "pods")
_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")

Object = dict[str, Any]


class DefaultTolerationSeconds(Plugin):
    """Pods tolerate a node that is not ready or unreachable for five minutes."""

    targets = Targets(("CREATE", "UPDATE"), (_PODS,))

    async def admit(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for taint in _TAINTS
            if not any(_tolerates(toleration, taint) for toleration in tolerations)
        ]
        if missing:
            spec["tolerations"] = tolerations + missing


def _tolerates(toleration: Object, taint: str) -> bool:
    return toleration.get("key", "") in (taint, "") and toleration.get("effect", "") in ("NoExecute", "")


class Priority(Plugin):
    """Pods get the priority of their class; at most one class is the default."""

    targets = Targets(("CREATE", "UPDATE"), (_PODS, _CLASSES))

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.kind.gvr.group_resource != _PODS:
            return
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if attributes.operation == "CREATE":
            self._set_priority(attributes, spec)
        elif attributes.old is not None:
            for key in ("priority", "preemptionPolicy"):
                if spec.get(key) is None and attributes.old["spec"].get(key) is not None:
                    spec[key] = attributes.old["spec"][key]

    async def validate(self, attributes: AdmissionAttributes) -> None:
        if attributes.kind.gvr.group_resource != _CLASSES:
            return
        assert attributes.object is not None
        default = self._default() if attributes.object.get("globalDefault") else None
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation == "CREATE" or name != attributes.object["metadata"]["name"]:
            raise refused(attributes, f"PriorityClass {name} is already marked as default. Only one default can exist")

    def _set_priority(self, attributes: AdmissionAttributes, spec: Object) -> None:
        found = self._class(attributes, spec.get("priorityClassName"))
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
        priority = found.get("value", 0) if found else 0
        policy = found.get("preemptionPolicy") if found else "PreemptLowerPriority"
        if spec.get("priority", priority) != priority:
            raise refused(
                attributes,
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
                f"admission controller computed {priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        if policy is None:
            return
        if spec.get("preemptionPolicy", policy) != policy:
            raise refused(
                attributes,
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name",
            )
        spec["preemptionPolicy"] = policy

    def _class(self, attributes: AdmissionAttributes, name: str | None) -> Object | None:
        if not name:
            return self._default()
        record = self._storage.get(_CLASSES, name)
        if record is None:
            raise refused(attributes, f"no PriorityClass with name {name} was found")
        found: Object = codec.decode_any(record.value)
        return found

    def _default(self) -> Object | None:
        """The default class; of several, the one with the lowest value."""
        classes = (codec.decode_any(record.value) for record in self._storage.list(_CLASSES))
        defaults = [one for one in classes if one.get("globalDefault")]
        return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)
