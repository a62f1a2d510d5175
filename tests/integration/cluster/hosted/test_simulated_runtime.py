"""Control planes without any Kubernetes program: the same from the outside."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.driver import Tenant

from kapstan.client import Client
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.core_v1 import ConfigMap, Pod
from kapstan.machinery.errors import ConfigError, ConnectionFailed, NotFound
from kapstan.machinery.meta import ObjectMeta
from kapstan.simulation import NodeSpec, Simulation

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}
KEPT = ConfigMap(metadata=ObjectMeta(name="kept", namespace="default"), data={"a": "b"})


async def test_it_is_made_used_and_deleted(tmp_path: Path) -> None:
    async with SimulatedRuntime(tmp_path) as runtime:
        tenant = Tenant(runtime)
        await tenant.apply()
        assert tenant.seen.ready  # at once
        await tenant.bootstrap()
        async with tenant.client() as client:
            assert b"kapstan" in await client.request("GET", "/version")
            await client.create(KEPT)
            assert await client.find(ConfigMap, "kubeadm-config", "kube-system") is not None

        await tenant.delete()

        assert not tenant.folder(tmp_path).exists()
        async with tenant.client() as client:
            with pytest.raises(ConnectionFailed):
                await client.request("GET", "/version")


async def test_a_deployment_becomes_available_on_simulated_nodes(tmp_path: Path) -> None:
    async with SimulatedRuntime(tmp_path) as runtime:
        tenant = Tenant(runtime)
        await tenant.apply()
        async with Simulation(tenant.administrator(), workloads=False).running() as machines, tenant.client() as client:
            await machines.kubelets.register(NodeSpec(name="n1"))
            await client.create(WEB)
            async with asyncio.timeout(60), client.watch(Deployment, "default") as events:
                async for event in events:
                    if event.object.status.available_replicas == 2:
                        break
            assert {pod.spec.node_name for pod in await client.list(Pod, "default")} == {"n1"}


async def test_it_is_signed_by_its_own_authority(tmp_path: Path) -> None:
    async with SimulatedRuntime(tmp_path) as runtime:
        one, other = Tenant(runtime, "one"), Tenant(runtime, "other")
        await one.apply()
        await other.apply()
        assert one.endpoint is not None
        stranger = other.administrator().replace(server=one.endpoint.url)

        async with one.client() as client:
            await client.create(KEPT)
        async with other.client() as client:
            with pytest.raises(NotFound):
                await client.get(ConfigMap, "kept", "default")
        async with Client(stranger) as client:
            with pytest.raises(ConnectionFailed):
                await client.request("GET", "/version")


@pytest.mark.parametrize("durable", [True, False])
async def test_it_sleeps_and_wakes(tmp_path: Path, durable: bool) -> None:
    async with SimulatedRuntime(tmp_path if durable else None) as runtime:
        tenant = Tenant(runtime)
        await tenant.apply()
        endpoint = tenant.endpoint
        async with tenant.client() as client:
            await client.create(KEPT)

        await tenant.apply(replicas=0)
        assert not tenant.seen.answering
        async with tenant.client() as client:
            with pytest.raises(ConnectionFailed):
                await client.request("GET", "/version")

        await tenant.apply(replicas=1)
        assert tenant.seen.ready
        assert tenant.endpoint == endpoint
        async with tenant.client() as client:
            assert (await client.get(ConfigMap, "kept", "default")).data == KEPT.data


async def test_a_manager_that_starts_again_finds_it(tmp_path: Path) -> None:
    async with SimulatedRuntime(tmp_path) as first:
        tenant = Tenant(first)
        await tenant.apply()
        async with tenant.client() as client:
            await client.create(KEPT)

    async with SimulatedRuntime(tmp_path) as second:
        again = tenant.of(second)
        await again.apply()
        assert again.endpoint == tenant.endpoint
        async with again.client() as client:
            assert (await client.get(ConfigMap, "kept", "default")).data == KEPT.data


async def test_another_version_is_only_said(tmp_path: Path) -> None:
    async with SimulatedRuntime(tmp_path) as runtime:
        tenant = Tenant(runtime, version="v1.35.4")
        await tenant.apply()
        await tenant.apply(version="v1.36.3")

        assert {state.version for state in tenant.seen.components.values()} == {"v1.36.3"}
        assert set(tenant.seen.components) == set(ComponentName)


async def test_a_port_that_has_to_be_this_one_is_told_when_it_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with SimulatedRuntime(tmp_path) as runtime:
            tenant = Tenant(runtime, exposure={"type": "HostPort", "port": port})
            with pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"):
                await tenant.apply()
            taken.close()
            await tenant.apply()
            assert tenant.seen.ready


async def test_fifty_at_once(tmp_path: Path) -> None:
    async with SimulatedRuntime() as runtime:
        tenants = [Tenant(runtime, f"c{number}") for number in range(50)]
        for tenant in tenants:
            await tenant.apply()
        assert len({tenant.endpoint for tenant in tenants}) == 50
        for tenant in tenants[::10]:
            async with tenant.client() as client:
                await client.create(KEPT)
        for tenant in tenants:
            await tenant.delete()
