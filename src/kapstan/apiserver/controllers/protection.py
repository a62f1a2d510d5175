"""Protection: what was deleted of storage goes when nobody uses it any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.admission.quota.scopes import attributes_classes
from kapstan.apiserver.admission.storageprotection import CLAIMS, CLASSES, FINALIZERS, VOLUMES
from kapstan.apiserver.controllers.controller import CollectionController
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("AttributesClassProtection", "ClaimProtection", "VolumeProtection")

Object = dict[str, Any]

_PODS = GroupResource("", "pods")


class _Protection(CollectionController):
    """Looks at objects of one kind that are being deleted, and again when one of their users changes."""

    users: tuple[GroupResource, ...] = ()

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self._finalizer = FINALIZERS[self.collection]
        self._kept: dict[str, None] = {}  # used by somebody when last looked at
        if self.users:
            self.follow(self._on_user, *self.users)

    def is_used(self, obj: Object) -> bool:
        raise NotImplementedError

    def observe(self, event: Event) -> None:
        if event.type == "DELETED":
            self._kept.pop(event.record.key, None)
        super().observe(event)

    def _on_user(self, event: Event) -> None:
        if event.type != "ADDED":
            for key in self._kept:
                self._queue.add(key)

    def notice(self, record: Record) -> None:
        if b'"deletionTimestamp"' in record.value or self._finalizer.encode() not in record.value:
            self._queue.add(record.key)

    async def reconcile(self, key: str) -> None:
        record = self._storage.get(self.collection, key)
        if record is None:
            return
        obj: Object = msgspec.json.decode(record.value)
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        deleting, protected = bool(metadata.get("deletionTimestamp")), self._finalizer in finalizers
        self._kept.pop(key, None)
        if deleting and protected and self.is_used(obj):
            self._kept[key] = None
        elif deleting and protected:
            await self._write(obj, [one for one in finalizers if one != self._finalizer])
        elif not deleting and not protected:
            await self._write(obj, [*finalizers, self._finalizer])

    async def _write(self, obj: Object, finalizers: list[str]) -> None:
        try:
            await self._api.update({**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}})
        except NotFound:
            return


class ClaimProtection(_Protection):
    """A claim is used by pods that are on a node."""

    account = "pvc-protection-controller"
    collection = CLAIMS
    users = (_PODS,)

    def is_used(self, obj: Object) -> bool:
        pods = (msgspec.json.decode(one.value) for one in self._storage.list(_PODS, f"{obj['metadata']['namespace']}/"))
        return any(_uses(pod, obj) for pod in pods if pod["spec"].get("nodeName"))


def _uses(pod: Object, claim: Object) -> bool:
    name, metadata = claim["metadata"]["name"], pod["metadata"]
    ended = metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds") == 0
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        if volume.get("ephemeral") and not ended and f"{metadata['name']}-{volume['name']}" == name:
            owners = claim["metadata"].get("ownerReferences") or ()
            if any(one.get("controller") and one["uid"] == metadata["uid"] for one in owners):
                return True
    return False


class VolumeProtection(_Protection):
    """A volume is used while it is bound to a claim."""

    account = "pv-protection-controller"
    collection = VOLUMES

    def is_used(self, obj: Object) -> bool:
        return bool((obj.get("status") or {}).get("phase") == "Bound")


class AttributesClassProtection(_Protection):
    """A class of volume attributes is used by the volumes and claims that name it."""

    account = "volumeattributesclass-protection-controller"
    collection = CLASSES
    users = (VOLUMES, CLAIMS)

    def is_used(self, obj: Object) -> bool:
        name = obj["metadata"]["name"]
        for record in (*self._storage.list(VOLUMES), *self._storage.list(CLAIMS)):
            if name in attributes_classes(msgspec.json.decode(record.value)):
                return True
        return False
