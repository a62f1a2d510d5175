"""Aggregated roles follow the roles that they select."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.apiserver.authz.aggregation import CLUSTER_ROLES, reconcile
from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster

GET = {"verbs": ["get"], "apiGroups": ["stable.example.com"], "resources": ["crontabs"]}


def role(name: str, **content: Any) -> dict[str, Any]:
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, **content}


@pytest.fixture
async def cluster() -> AsyncIterator[LogicalCluster]:
    async with asyncio.TaskGroup() as tasks:
        yield await new_cluster("test", tasks=tasks)


async def test_a_new_role_extends_view_and_a_deleted_one_shrinks_it(cluster: LogicalCluster) -> None:
    before = await cluster.api.get(CLUSTER_ROLES, "view")
    await cluster.api.create(role("crontabs-view", rules=[GET]))
    await reconcile(cluster, "view")
    after = await cluster.api.get(CLUSTER_ROLES, "view")
    assert after["rules"] == [GET, *before["rules"]]
    managers = {entry["manager"]: entry["operation"] for entry in after["metadata"]["managedFields"]}
    assert managers == {"kube-apiserver": "Update", "clusterrole-aggregation-controller": "Apply"}

    await cluster.api.delete(CLUSTER_ROLES, "crontabs-view")
    await reconcile(cluster, "view")
    assert (await cluster.api.get(CLUSTER_ROLES, "view"))["rules"] == before["rules"]


async def test_what_is_right_is_not_written_again(cluster: LogicalCluster) -> None:
    for name in ("admin", "edit", "view", "cluster-admin", "nothing"):
        revision = cluster.storage.revision
        await reconcile(cluster, name)
        assert cluster.storage.revision == revision
