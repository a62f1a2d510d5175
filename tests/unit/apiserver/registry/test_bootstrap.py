"""What a cluster begins with."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from kapstan.apiserver.registry.api import API
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.gvk import GroupVersionKind

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
PRIORITY_CLASS = GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole")


async def names(api: API, kind: GroupVersionKind) -> set[str]:
    return {found["metadata"]["name"] for found in await api.list(kind)}


async def test_a_new_cluster(server: EmbeddedServer) -> None:
    api = server.cluster.api
    assert await names(api, NAMESPACE) == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert await names(api, PRIORITY_CLASS) == {"system-cluster-critical", "system-node-critical"}
    assert {"cluster-admin", "admin", "edit", "view"} <= await names(api, ROLE)
    found = await api.get(CONFIG_MAP, "extension-apiserver-authentication", "kube-system")
    assert found["data"]["client-ca-file"] == server.cluster.credentials.ca.cert_pem.decode()
    found = await api.get(CONFIG_MAP, "kube-apiserver-legacy-service-account-token-tracking", "kube-system")
    assert date.fromisoformat(found["data"]["since"]) <= datetime.now(UTC).date()


async def test_a_cluster_that_comes_back(tmp_path: Path) -> None:
    """It is the same cluster: same identity, same authority, and what somebody changed stays changed."""
    async with EmbeddedServer(data_dir=tmp_path) as server:
        api = server.cluster.api
        system = await api.get(NAMESPACE, "kube-system")
        await api.patch(ROLE, "view", "", {"metadata": {"labels": {"mine": "yes"}}})
        await api.delete(PRIORITY_CLASS, "system-node-critical")
        authority = server.cluster.credentials.ca.cert_pem
        token_key = server.cluster.credentials.signing_key.public_pem
    async with EmbeddedServer(data_dir=tmp_path) as server:
        api = server.cluster.api
        assert await api.get(NAMESPACE, "kube-system") == system
        assert (await api.get(ROLE, "view"))["metadata"]["labels"]["mine"] == "yes"
        assert "system-node-critical" in await names(api, PRIORITY_CLASS), "what is missing is added again"
        assert server.cluster.credentials.ca.cert_pem == authority
        assert server.cluster.credentials.signing_key.public_pem == token_key


async def test_custom_resources_are_served_again_after_a_restart(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    kind = GroupVersionKind("example.com", "v1", "Widget")
    async with EmbeddedServer(data_dir=tmp_path) as server:
        await server.cluster.api.create({**crd, "metadata": {"name": "widgets.example.com"}})
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "b"}}
        created = await server.cluster.api.create(widget)
    async with EmbeddedServer(data_dir=tmp_path) as server:
        assert await server.cluster.api.get(kind, "w") == created
        assert len(await server.cluster.api.list(kind)) == 1
