"""Volumes: claims grow only where their storage class says that they can."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.quantity import Quantity

__all__ = ("PersistentVolumeClaimResize",)

_CLAIMS = GroupResource("", "persistentvolumeclaims")
_CLASSES = GroupResource("storage.k8s.io", "storageclasses")
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

Object = dict[str, Any]


class PersistentVolumeClaimResize(Plugin):
    """Only bound claims grow, and only those of a storage class that allows it."""

    targets = Targets(("UPDATE",), (_CLAIMS,))

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def validate(self, attributes: AdmissionAttributes) -> None:
        claim, old = attributes.object, attributes.old
        if claim is None or old is None or _size(claim) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise refused(attributes, "Only bound persistent volume claims can be expanded")
        if not self._may_grow(_class_of(claim), _class_of(old)):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            raise refused(attributes, why + "support resize")

    def _may_grow(self, name: str, old_name: str) -> bool:
        record = self._storage.get(_CLASSES, name) if name and name == old_name else None
        return record is not None and codec.decode_any(record.value).get("allowVolumeExpansion") is True


def _size(claim: Object) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return Quantity(requests.get("storage", 0))


def _class_of(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    name = annotations.get(_CLASS_ANNOTATION, claim["spec"].get("storageClassName"))
    return str(name or "")
