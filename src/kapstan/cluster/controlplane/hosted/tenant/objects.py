"""Everything that a new cluster holds, and putting it there.

Applied, so that what a user adds beside stays, and what is changed by hand comes back. It needs an API server that
accepts writes, not one that is ready: as a member of `system:masters` one can write before there is any role.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from kapstan.client import Client
from kapstan.client.interface import gvk_of
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.controlplane.hosted.tenant.coredns import coredns_objects
from kapstan.cluster.controlplane.hosted.tenant.discovery import discovery_objects
from kapstan.cluster.controlplane.hosted.tenant.joining import joining_objects
from kapstan.cluster.controlplane.hosted.tenant.kubeproxy import kube_proxy_objects
from kapstan.k8s.core_v1 import Namespace
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.meta import ObjectMeta

__all__ = ("addon_objects", "apply_objects", "bootstrap_objects", "delete_objects", "unwanted_addon_objects")

Document = dict[str, Any]

_MANAGER = "kapstan-hosted"
# Sets what a user may change afterwards.
_MAKER = "kapstan-hosted-initial"
_NAMESPACES = ("kube-system", "kube-public")
_AT_ONCE = 8


def bootstrap_objects(settings: Settings, endpoint: Endpoint, ca_pem: bytes) -> list[Document]:
    """What nodes need to join."""
    objects = [*discovery_objects(endpoint.url, ca_pem), *joining_objects(settings, endpoint)]
    return [to_builtins(obj) for obj in objects]


def addon_objects(settings: Settings, endpoint: Endpoint) -> list[Document]:
    """What is deployed into the cluster."""
    dns = coredns_objects(settings) if settings.addons.core_dns else []
    proxy = kube_proxy_objects(settings, endpoint) if settings.addons.kube_proxy else []
    return [*dns, *proxy]


def unwanted_addon_objects(settings: Settings, endpoint: Endpoint) -> list[Document]:
    """What was deployed if it was once wanted."""
    dns = [] if settings.addons.core_dns else coredns_objects(settings)
    proxy = [] if settings.addons.kube_proxy else kube_proxy_objects(settings, endpoint)
    return [*dns, *proxy]


async def apply_objects(client: Client, objects: Sequence[Document]) -> None:
    """Have these objects, several at a time."""
    await _ensure_namespaces(client)
    limit = asyncio.Semaphore(_AT_ONCE)

    async def apply(obj: Document) -> None:
        async with limit:
            await client.apply(await _with_replicas_left_alone(client, obj), field_manager=_MANAGER)

    await _all(apply(obj) for obj in objects)


async def delete_objects(client: Client, objects: Sequence[Document]) -> None:
    """Have none of these objects."""
    await _all(client.delete(obj) for obj in objects)


async def _ensure_namespaces(client: Client) -> None:
    """The API server makes them as well, a moment later."""
    for name in _NAMESPACES:
        if await client.find(Namespace, name) is None:
            try:
                await client.create(Namespace(metadata=ObjectMeta(name=name)))
            except AlreadyExists:
                pass


async def _with_replicas_left_alone(client: Client, obj: Document) -> Document:
    """An object of which the number of replicas is set when it is made, and left to the user from then on."""
    if "replicas" not in obj.get("spec", {}):
        return obj
    metadata = obj["metadata"]
    if await client.find(gvk_of(obj), metadata["name"], metadata["namespace"]) is None:
        try:
            await client.create(obj, field_manager=_MAKER)
        except AlreadyExists:
            pass
    applied = copy.deepcopy(obj)
    del applied["spec"]["replicas"]
    return applied


async def _all(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Everything, side by side; the first failure is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
