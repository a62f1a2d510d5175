"""Bootstrap: what a logical cluster has from its first moment.

Roles, bindings and priority classes are the same everywhere: all clusters that a process makes share one copy of them
in memory. Namespaces and the `kubernetes` service are each cluster's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from kapstan.apiserver.admission.webhook.client import WebhookClient
from kapstan.apiserver.authz import bootstrap as rbac
from kapstan.apiserver.authz import rbac as rbac_rules
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.kinds import KindTable
from kapstan.apiserver.registry import objects
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.apiserver.request import LOOPBACK, UserInfo
from kapstan.apiserver.storage.interface import Record
from kapstan.apiserver.storage.memory import MemoryStorage, Snapshot
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("NAMESPACES", "new_cluster")

_UIDS = UUID("0c6a1c9e-6a6b-4b6d-9b7d-7d9a3c1f5e20")
NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")

_template: Snapshot | None = None


async def new_cluster(
    name: str,
    storage: MemoryStorage | None = None,
    *,
    tasks: asyncio.TaskGroup | None = None,
    credentials: Credentials | None = None,
    static_tokens: Mapping[str, UserInfo] | None = None,
    webhook_client: WebhookClient | None = None,
) -> LogicalCluster:
    """A cluster with everything that it begins with; in memory unless a storage is given, which may be an old one.

    What it has to do in the background runs in `tasks`; without them it can only do what is done within a request.
    """
    persistent = storage is not None
    if storage is None:
        storage = MemoryStorage(await _shared())
    credentials = credentials or await Credentials.of(storage, persistent=persistent)
    cluster = LogicalCluster(name, storage, credentials, static_tokens=static_tokens, webhook_client=webhook_client)
    if tasks is not None:
        cluster.host(tasks)
    if persistent and storage.revision == 0:
        await storage.begin_with(await _shared())
    elif persistent:
        await _reconcile(storage)
    await _create_own(cluster)
    await cluster.custom_resources.start()
    return cluster


async def _shared() -> Snapshot:
    """The part that all new clusters have in common, made once."""
    global _template
    if _template is None:
        storage = MemoryStorage()
        await _reconcile(storage)
        _template = storage.snapshot()
    return _template


async def _reconcile(storage: MemoryStorage) -> None:
    """Add what is missing; roles that an older release left are extended."""
    kinds = builtin_kinds()
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for document in [*rbac.documents(now), *_priority_classes(now)]:
        await _ensure(storage, kinds, document)


def _priority_classes(created: str) -> list[dict[str, Any]]:
    """The two classes that system pods name."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": name,
                "uid": str(uuid5(_UIDS, name)),
                "generation": 1,
                "creationTimestamp": created,
            },
            "value": value,
            "description": f"For system pods that {purpose}.",
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value, purpose in (
            ("system-cluster-critical", 2_000_000_000, "the cluster cannot do without"),
            ("system-node-critical", 2_000_001_000, "their node cannot do without"),
        )
    ]


async def _ensure(storage: MemoryStorage, kinds: KindTable, document: dict[str, Any]) -> None:
    kind = kinds.kind(GroupVersionKind.of(document["apiVersion"], document["kind"]))
    assert kind is not None
    metadata = document["metadata"]
    key = kind.storage.key(metadata.get("namespace", ""), metadata["name"])
    found = storage.latest(kind.storage.group_resource, key)
    wanted: dict[str, Any] | None = document
    if found is not None:
        is_rbac = kind.gvk.group == rbac_rules.GROUP
        wanted = rbac.reconciled(objects.decode(found.value), document) if is_rbac else None
    if wanted is None:
        return

    def build(revision: int, obj: dict[str, Any] = wanted) -> Record:
        return objects.record(kind, key, revision, obj)

    await storage.put(kind.storage.group_resource, key, found, build)


async def _create_own(cluster: LogicalCluster) -> None:
    """What differs from cluster to cluster: namespaces, and by which authority its clients are known."""
    api = cluster.api.as_user(LOOPBACK, "kube-apiserver")
    documents: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    data = {
        "extension-apiserver-authentication": {"client-ca-file": cluster.credentials.client_authorities.decode()},
        # Since when somebody notes which tokens in Secrets are used.
        "kube-apiserver-legacy-service-account-token-tracking": {"since": datetime.now(UTC).strftime("%Y-%m-%d")},
    }
    for name, content in data.items():
        metadata = {"name": name, "namespace": "kube-system"}
        documents.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": content})
    for document in documents:
        try:
            await api.create(document)
        except AlreadyExists:
            continue
