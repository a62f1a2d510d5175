"""StorageObjectInUseProtection: volumes, claims and classes of volume attributes do not go while they are used.

The finalizer comes with admission; a controller takes it away when nobody uses what was deleted.
"""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.machinery.gvk import GroupResource

__all__ = ("CLAIMS", "CLASSES", "FINALIZERS", "VOLUMES", "StorageObjectInUseProtection")

CLAIMS = GroupResource("", "persistentvolumeclaims")
VOLUMES = GroupResource("", "persistentvolumes")
CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")
FINALIZERS: Mapping[GroupResource, str] = {
    CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
    CLASSES: "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Every new one gets its finalizer."""

    targets = Targets(("CREATE",), tuple(FINALIZERS))

    async def admit(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        metadata = attributes.object["metadata"]
        finalizer = FINALIZERS[attributes.kind.gvr.group_resource]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
