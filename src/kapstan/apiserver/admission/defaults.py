"""Defaults that depend on other objects or on the cluster: a new node's taint, storage and ingress classes."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource

__all__ = ("DefaultIngressClass", "DefaultStorageClass", "TaintNodesByCondition")

_NODES = GroupResource("", "nodes")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_INGRESSES = GroupResource("networking.k8s.io", "ingresses")
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}

Object = dict[str, Any]


class TaintNodesByCondition(Plugin):
    """A new node is not ready until its kubelet says otherwise: nothing shall be scheduled to it before."""

    targets = Targets(("CREATE",), (_NODES,))

    async def admit(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        spec = attributes.object.get("spec") or {}
        taints = spec.get("taints") or []
        if not any({key: taint.get(key) for key in _NOT_READY} == _NOT_READY for taint in taints):
            attributes.object["spec"] = {**spec, "taints": [*taints, dict(_NOT_READY)]}


class _DefaultClass(Plugin):
    """Fills in the class that is annotated as default; of several, the newest."""

    classes: GroupResource
    annotations: tuple[str, ...]
    field: str

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def has_class(self, obj: Object) -> bool:
        raise NotImplementedError

    async def admit(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        if self.has_class(attributes.object):
            return
        name = self._default()
        if name is not None:
            attributes.object.setdefault("spec", {})[self.field] = name

    def _default(self) -> str | None:
        found = []
        for record in self._storage.list(self.classes):
            metadata = codec.decode_any(record.value)["metadata"]
            annotations = metadata.get("annotations") or {}
            if any(annotations.get(key) == "true" for key in self.annotations):
                found.append(metadata)
        found.sort(key=lambda metadata: metadata["name"])
        newest = max(found, key=lambda metadata: str(metadata.get("creationTimestamp", "")), default=None)
        return newest["name"] if newest else None


class DefaultStorageClass(_DefaultClass):
    """For claims that name no storage class."""

    targets = Targets(("CREATE",), (_CLAIMS,))
    classes = GroupResource("storage.k8s.io", "storageclasses")
    annotations = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
    field = "storageClassName"

    def has_class(self, obj: Object) -> bool:
        annotations = obj["metadata"].get("annotations") or {}
        return (
            "volume.beta.kubernetes.io/storage-class" in annotations
            or (obj.get("spec") or {}).get(self.field) is not None
        )


class DefaultIngressClass(_DefaultClass):
    """For ingresses that name no class."""

    targets = Targets(("CREATE",), (_INGRESSES,))
    classes = GroupResource("networking.k8s.io", "ingressclasses")
    annotations = ("ingressclass.kubernetes.io/is-default-class",)
    field = "ingressClassName"

    def has_class(self, obj: Object) -> bool:
        annotations = obj["metadata"].get("annotations") or {}
        return "kubernetes.io/ingress.class" in annotations or (obj.get("spec") or {}).get(self.field) is not None
