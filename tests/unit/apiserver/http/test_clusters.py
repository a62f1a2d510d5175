"""Many logical clusters in one process, each on its own."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from kapstan.apiserver.server import Endpoint, Server
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole")


async def version_of(endpoint: Endpoint, authority: bytes) -> bytes:
    context = ssl.create_default_context(cadata=authority.decode())
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=context)
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_each_has_its_address_its_authority_and_its_objects() -> None:
    async with Server() as server:
        one = await server.add(await server.new_cluster("one"), "127.0.0.2")
        two = await server.add(await server.new_cluster("two"), "127.0.0.3")
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
        await one.cluster.api.create(document)
        assert await two.cluster.api.find(CONFIG_MAP, "a", "default") is None
        uids = [(await found.cluster.api.get(NAMESPACE, "kube-system"))["metadata"]["uid"] for found in (one, two)]
        assert uids[0] != uids[1], "by which clusters are told apart"
        for endpoint in (one, two):
            answer = await version_of(endpoint, endpoint.cluster.credentials.ca.cert_pem)
            assert answer.startswith(b"HTTP/1.1 200 OK")
        with pytest.raises(ssl.SSLError):
            await version_of(one, two.cluster.credentials.ca.cert_pem)


async def test_what_all_begin_with_is_shared_until_one_changes_it() -> None:
    async with Server() as server:
        one, two = [await server.new_cluster(name) for name in ("one", "two")]
        kind = one.kinds.kind(ROLE)
        assert kind is not None
        table = kind.storage.group_resource
        assert one.storage.get(table, "view") is two.storage.get(table, "view")
        await one.api.delete(ROLE, "view")
        assert await one.api.find(ROLE, "view") is None
        assert await two.api.find(ROLE, "view") is not None


async def test_a_cluster_that_is_removed_is_gone_and_its_port_free() -> None:
    async with Server() as server:
        first = await server.add(await server.new_cluster("one"))
        with pytest.raises(ConfigError, match="Address already in use"):
            await server.add(await server.new_cluster("two"), port=first.port)
        await server.remove("one")
        with pytest.raises(OSError):
            await asyncio.open_connection(first.host, first.port)
        again = await server.add(await server.new_cluster("three"), port=first.port)
        assert again.port == first.port


async def test_an_idle_cluster_has_no_tasks() -> None:
    async with Server() as server:
        await server.add(await server.new_cluster("warm"))
        await asyncio.sleep(0)
        endpoints = [await server.add(await server.new_cluster(f"c{n}")) for n in range(5)]
        for endpoint in endpoints:
            assert endpoint.controllers is not None
            await endpoint.controllers.idle()
        names = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
        assert len(asyncio.all_tasks()) <= 3, names


async def test_a_user_gets_a_kubeconfig_of_their_own(tmp_path: Path) -> None:
    async with Server() as server:
        endpoint = await server.add(await server.new_cluster("one"))
        config = endpoint.kubeconfig("jane", ("developers",))
        assert config["users"][0]["name"] == "jane"
        assert config["clusters"][0]["cluster"]["server"] == endpoint.url
        assert config["current-context"] == "jane@one"
