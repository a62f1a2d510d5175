"""Bootstrap: what a logical cluster has from its first moment.

Roles and bindings are the same everywhere: in memory, all clusters of a process share one copy of them. Namespaces and
the `kubernetes` service are each cluster's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kapstan.apiserver.admission.webhook.client import WebhookClient
from kapstan.apiserver.authz import bootstrap as rbac
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.kinds import KindTable
from kapstan.apiserver.registry import objects
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.interface import Record
from kapstan.apiserver.storage.memory import MemoryStorage, Snapshot
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("NAMESPACES", "new_cluster")

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")

_template: Snapshot | None = None


async def new_cluster(
    name: str,
    storage: MemoryStorage | None = None,
    *,
    tasks: asyncio.TaskGroup | None = None,
    static_tokens: Mapping[str, UserInfo] | None = None,
    webhook_client: WebhookClient | None = None,
) -> LogicalCluster:
    """A cluster with everything that it begins with; in memory unless a storage is given, which may be an old one.

    What it has to do in the background runs in `tasks`; without them it can only do what is done within a request.
    """
    persistent = storage is not None
    if storage is None:
        storage = MemoryStorage(await _shared())
    credentials = await Credentials.of(storage, persistent=persistent)
    cluster = LogicalCluster(name, storage, credentials, static_tokens=static_tokens, webhook_client=webhook_client)
    if tasks is not None:
        cluster.host(tasks)
    if persistent:
        await _reconcile_roles(storage)
    await _create_namespaces(cluster)
    await cluster.custom_resources.start()
    return cluster


async def _shared() -> Snapshot:
    """The part that all clusters in memory have in common, made once."""
    global _template
    if _template is None:
        storage = MemoryStorage()
        await _reconcile_roles(storage)
        _template = storage.snapshot()
    return _template


async def _reconcile_roles(storage: MemoryStorage) -> None:
    """Roles and bindings, added where they are missing and extended where an older release left them."""
    kinds = builtin_kinds()
    for document in rbac.documents(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")):
        await _ensure(storage, kinds, document)


async def _ensure(storage: MemoryStorage, kinds: KindTable, document: dict[str, Any]) -> None:
    kind = kinds.kind(GroupVersionKind.of(document["apiVersion"], document["kind"]))
    assert kind is not None
    metadata = document["metadata"]
    key = kind.storage.key(metadata.get("namespace", ""), metadata["name"])
    found = storage.latest(kind.storage.group_resource, key)
    wanted: dict[str, Any] | None = document
    if found is not None:
        wanted = rbac.reconciled(objects.decode(found.value), document)
    if wanted is None:
        return

    def build(revision: int, obj: dict[str, Any] = wanted) -> Record:
        return objects.record(kind, key, revision, obj)

    await storage.put(kind.storage.group_resource, key, found, build)


async def _create_namespaces(cluster: LogicalCluster) -> None:
    for name in NAMESPACES:
        try:
            await cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except AlreadyExists:
            continue
