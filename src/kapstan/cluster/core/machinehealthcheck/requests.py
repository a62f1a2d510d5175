"""Requests: remediation by somebody else, asked for by an object made from a template.

A request has the name of its machine, so there is never more than one. It is taken back when the machine is well again,
and made again if somebody removes it while the machine is not: its kind is watched from the first time it is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.common import VersionedReference
from kapstan.cluster.contract.version import crd_name
from kapstan.cluster.core.external import DEFINITIONS, NotInstalled
from kapstan.cluster.skeleton import labels
from kapstan.machinery.errors import AlreadyExists, KapstanError
from kapstan.machinery.gvk import GroupVersion, GroupVersionKind, ObjectKey
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.source import Queue

__all__ = ("Requests", "TemplateNotFound", "desired_request")

_TEMPLATE = "Template"


class TemplateNotFound(KapstanError):
    """The template that a check names cannot be had."""


class Requests:
    """Remediation requests of machines. It is a source, too: it wakes who looks at the machine of one that changes."""

    def __init__(self, client: CachedClient, checks_of: Callable[[ObjectKey], Iterable[ObjectKey]]) -> None:
        self._client, self._checks_of = client, checks_of
        self._followed: set[GroupVersionKind] = set()
        self._queue: Queue | None = None

    async def make(self, template: VersionedReference, machine: Machine) -> bool:
        """Ask for a machine's remediation; False if that has been done."""
        if await self._find(template, machine) is not None:
            return False
        found = await self._client.live.find(_gvk(template), template.name, machine.namespace)
        if found is None:
            raise TemplateNotFound(
                f"the remediation template {template.kind} {machine.namespace}/{template.name} does not exist; "
                "create it, or change spec.remediation.templateRef"
            )
        try:
            await self._client.create(desired_request(found, machine))
        except AlreadyExists:
            return False  # the cache had not heard of it yet
        return True

    async def take_back(self, template: VersionedReference, machine: Machine) -> None:
        """Delete a machine's request, if there is one."""
        found = await self._find(template, machine)
        if found is not None and "deletionTimestamp" not in found["metadata"]:
            await self._client.delete(found, uid=found["metadata"]["uid"])

    async def _find(self, template: VersionedReference, machine: Machine) -> dict[str, Any] | None:
        gvk = _gvk(template)
        requested = gvk._replace(kind=gvk.kind.removesuffix(_TEMPLATE))
        name = crd_name(requested.group_kind)
        if await self._client.find(DEFINITIONS, name) is None:
            raise NotInstalled(f"there is no CRD {name}; install what remediates by {template.kind} {template.name}")
        self._follow(requested)
        return await self._client.find(requested, machine.name, machine.namespace)

    # --- Waking -----------------------------------------------------------------------------------------------------

    async def run(self, queue: Queue, synced: Callable[[], None]) -> None:
        """Wake whoever looks at the machine of a request that changes, until cancelled."""
        self._queue = queue
        synced()
        try:
            await asyncio.Event().wait()
        finally:
            self._queue = None

    def _follow(self, gvk: GroupVersionKind) -> None:
        if gvk not in self._followed:
            self._followed.add(gvk)
            self._client.cache.factory.shared(gvk).listen(self._changed)

    def _changed(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        state = new or old
        if initial or state is None or self._queue is None:
            return
        for key in self._checks_of(state.key):
            self._queue.add(key)


def desired_request(template: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """What a template makes for a machine."""
    inner = template["spec"].get("template", {})
    metadata = inner.get("metadata") or {}
    group_version = GroupVersion.parse(template["apiVersion"])
    cloned_from = {
        labels.CLONED_FROM_NAME: template["metadata"]["name"],
        labels.CLONED_FROM_GROUP_KIND: f"{template['kind']}.{group_version.group}",
    }
    owner = {"apiVersion": machine.api_version, "kind": machine.kind, "name": machine.name, "uid": machine.uid}
    return {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"].removesuffix(_TEMPLATE),
        "metadata": {
            "name": machine.name,
            "namespace": machine.namespace,
            "labels": {**(metadata.get("labels") or {}), labels.CLUSTER_NAME: machine.spec.cluster_name},
            "annotations": {**(metadata.get("annotations") or {}), **cloned_from},
            "ownerReferences": [owner],
        },
        "spec": inner.get("spec", {}),
    }


def _gvk(template: VersionedReference) -> GroupVersionKind:
    group, version = GroupVersion.parse(template.api_version)
    return GroupVersionKind(group, version, template.kind)
