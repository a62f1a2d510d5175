"""A cluster in memory, with its controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.controllers.manager import Controllers, start
from kapstan.apiserver.request import DeleteOptions
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


class World:
    """A cluster, and short ways to say what tests do with it."""

    def __init__(self, cluster: LogicalCluster, controllers: Controllers) -> None:
        self.cluster, self.controllers = cluster, controllers
        self.api = cluster.api

    async def create(
        self, kind: str, name: str, api_version: str = "v1", namespace: str = "default", **more: Any
    ) -> Object:
        metadata = {"name": name, **more.pop("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        return await self.api.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})

    async def config_map(self, name: str, *owners: Object, block: bool = False, **metadata: Any) -> Object:
        references = [owned_by(owner, block=block) for owner in owners]
        return await self.create("ConfigMap", name, metadata={"ownerReferences": references, **metadata})

    async def delete(self, obj: Object, policy: str | None = None) -> None:
        kind = GroupVersionKind.of(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        options = DeleteOptions(propagation_policy=policy)
        await self.api.delete(kind, metadata["name"], metadata.get("namespace", ""), options=options)

    async def find(self, obj: Object) -> Object | None:
        """The object as it is now; None if it is gone, or another one has its name."""
        kind = GroupVersionKind.of(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        try:
            found = await self.api.get(kind, metadata["name"], metadata.get("namespace", ""))
        except NotFound:
            return None
        return found if found["metadata"]["uid"] == metadata["uid"] else None

    async def patch(self, obj: Object, patch: Object, **options: Any) -> Object:
        kind = GroupVersionKind.of(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        return await self.api.patch(kind, metadata["name"], metadata.get("namespace", ""), patch, **options)

    async def settle(self) -> None:
        """Let the controllers do what there is to do."""
        await self.controllers.idle()


def owned_by(owner: Object, *, block: bool = False) -> Object:
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    reference |= {"name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "blockOwnerDeletion": True} if block else reference


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        controllers = await start(cluster)
        made = World(cluster, controllers)
        await made.settle()
        yield made
        controllers.close()
