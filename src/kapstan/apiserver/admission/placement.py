"""What pods have to do with their node: they carry the labels of where it is, and do not grow beyond it."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.quota.amounts import parsed
from kapstan.apiserver.admission.quota.podusage import pod_requests
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.meta import StatusCause
from kapstan.machinery.quantity import Quantity

__all__ = ("NodeDeclaredFeatureValidator", "PodResizeValidator", "PodTopologyLabels")

Object = dict[str, Any]

_PODS = GroupResource("", "pods")
_NODES = GroupResource("", "nodes")
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_NOTHING = Quantity(0)


class PodTopologyLabels(Plugin):
    """A pod that comes to a node gets its zone and its region as labels."""

    targets = Targets(("CREATE",), (_PODS,), ("", "binding"))

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def admit(self, attributes: AdmissionAttributes) -> None:
        obj = attributes.object
        assert obj is not None
        if attributes.subresource:
            target = obj.get("target") or {}
            name = target.get("name", "") if target.get("kind") == "Node" else ""
        else:
            name = obj["spec"].get("nodeName", "")
        node = self._storage.get(_NODES, name) if name else None
        found = {label: node.labels[label] for label in _TOPOLOGY if label in node.labels} if node is not None else {}
        if found:
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **found}


class _OnNode(Plugin):
    """Judges updates of pods by the node they are on; those that change nothing of what is wanted are fine."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def validate(self, attributes: AdmissionAttributes) -> None:
        pod, old = attributes.object, attributes.old
        assert pod is not None
        assert old is not None
        name = pod["spec"].get("nodeName")
        if not name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        if not self.concerns(pod, old):
            return
        record = self._storage.get(_NODES, name)
        if record is None:
            raise refused(attributes, f'node "{name}" not found')
        self.judge(attributes, pod, old, codec.decode_any(record.value))

    def concerns(self, pod: Object, old: Object) -> bool:
        return True

    def judge(self, attributes: AdmissionAttributes, pod: Object, old: Object, node: Object) -> None:
        raise NotImplementedError


class NodeDeclaredFeatureValidator(_OnNode):
    """A pod is changed only in ways that its node says it can follow."""

    targets = Targets(("UPDATE",), (_PODS,), ("", "resize"))

    def concerns(self, pod: Object, old: Object) -> bool:
        return bool(_features(pod["spec"], old["spec"]))

    def judge(self, attributes: AdmissionAttributes, pod: Object, old: Object, node: Object) -> None:
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        missing = [one for one in _features(pod["spec"], old["spec"]) if one not in declared]
        if missing:
            features = f"pod update requires features {', '.join(missing)}"
            raise refused(attributes, f'{features} which are not available on node "{node["metadata"]["name"]}"')


def _features(spec: Object, old: Object) -> list[str]:
    """What a node must know for such a change."""
    found = ["InPlacePodLevelResourcesVerticalScaling"] if spec.get("resources") != old.get("resources") else []
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=False)
    if any(
        one.get("resources") != before.get("resources")
        for one, before in pairs
        if before.get("restartPolicy") != "Always"
    ):
        found.append("InPlacePodVerticalScalingInitContainers")
    return found


class PodResizeValidator(_OnNode):
    """A pod asks for no more than its node has to give, and is resized on Linux only."""

    targets = Targets(("UPDATE",), (_PODS,), ("resize",))

    def judge(self, attributes: AdmissionAttributes, pod: Object, old: Object, node: Object) -> None:
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        system = labels.get("kubernetes.io/os", "linux")
        if system != "linux":
            text = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _refused_because(attributes, text, "UnsupportedPlatform")
        if missing := _missing(pod, node):
            text = f"node didn't have enough allocatable resources: {missing}"
            raise _refused_because(attributes, text, "NodeCapacity")


def _missing(pod: Object, node: Object) -> str:
    """What of the node is not enough."""
    has = parsed((node.get("status") or {}).get("allocatable"))
    wants = pod_requests({"spec": pod["spec"]})
    texts = []
    for name, amount in (("cpu", Quantity.milli), ("memory", int)):
        wanted, there = wants.get(name, _NOTHING), has.get(name, _NOTHING)
        if wanted > there:
            texts.append(f"{name}, requested: {amount(wanted)}, allocatable: {amount(there)}")
    return "; ".join(texts)


def _refused_because(attributes: AdmissionAttributes, why: str, cause: str) -> Exception:
    refusal = refused(attributes, why)
    assert refusal.status.details is not None
    refusal.status.details.causes = [StatusCause(reason=cause)]
    return refusal
