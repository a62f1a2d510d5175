"""Aggregated roles follow the roles that they select."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.apiserver.authz.aggregation import CLUSTER_ROLES, RoleAggregation
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
    aggregation = RoleAggregation(cluster)
    aggregation.start()
    before = {name: (await cluster.api.get(CLUSTER_ROLES, name))["rules"] for name in ("view", "edit", "admin")}
    await cluster.api.create(role("crontabs-view", rules=[GET]))
    await aggregation.idle()
    view = await cluster.api.get(CLUSTER_ROLES, "view")
    assert view["rules"] == [GET, *before["view"]]
    managers = {entry["manager"]: entry["operation"] for entry in view["metadata"]["managedFields"]}
    assert managers == {"kube-apiserver": "Update", "clusterrole-aggregation-controller": "Apply"}
    for name in ("edit", "admin"):
        assert GET in (await cluster.api.get(CLUSTER_ROLES, name))["rules"], "view is part of edit, edit of admin"

    await cluster.api.delete(CLUSTER_ROLES, "crontabs-view")
    await aggregation.idle()
    for name, rules in before.items():
        assert (await cluster.api.get(CLUSTER_ROLES, name))["rules"] == rules
    aggregation.close()


async def test_what_is_right_is_not_written_again(cluster: LogicalCluster) -> None:
    revision = cluster.storage.revision
    aggregation = RoleAggregation(cluster)
    aggregation.start()
    await aggregation.idle()
    assert cluster.storage.revision == revision
    aggregation.close()
