"""The real clusterctl shows our clusters, hands out their kubeconfigs, and moves them between management planes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.goodbyes import goodbyes as goodbyes

from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.management import KINDS, management_plane
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import documents_of
from kapstan.k8s.core_v1 import Namespace, Node
from kapstan.machinery.codec import convert, to_yaml
from kapstan.machinery.conditions import is_true
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment

from .program import Clusterctl, build

pytestmark = pytest.mark.timeout(1500)  # the first time, it is built


@pytest.fixture(scope="session")
def program() -> Path:
    return build()


@pytest.fixture
def clusterctl(program: Path, tmp_path: Path) -> Clusterctl:
    return Clusterctl(program, tmp_path)


async def a_cluster(client: Client, namespace: str) -> Cluster:
    """A cluster with two workers, once it is available."""
    values = {"CLUSTER_NAME": "c", "NAMESPACE": namespace, "WORKER_MACHINE_COUNT": "2"}
    for document in documents_of(flavor("simulated"), values):
        await client.create(document)
    return await available(client, namespace)


async def available(client: Client, namespace: str) -> Cluster:
    """Wait for the cluster."""
    async with asyncio.timeout(120), client.watch(Cluster, namespace) as events:
        async for event in events:
            cluster = event.object
            workers = cluster.status.workers
            if is_true(cluster.status.conditions, "Available") and workers and workers.available_replicas == 2:
                return cluster
    raise AssertionError("the watch has ended")


async def machines(client: Client, namespace: str) -> dict[str, str | None]:
    return {one.name: one.spec.provider_id for one in await client.list(Machine, namespace)}


async def nodes(kubeconfig: str) -> dict[str, str]:
    """The nodes of a workload cluster, and who they are."""
    async with Client(Config.from_kubeconfig(kubeconfig.encode())) as workload:
        return {node.name: node.uid for node in await workload.list(Node)}


def kubeconfig_file(path: Path, content: Any) -> Path:
    path.touch(mode=0o600)
    path.write_text(to_yaml(content))
    return path


@pytest.mark.real
async def test_a_cluster_is_described_reached_and_moved(
    real: Environment, clusterctl: Clusterctl, tmp_path: Path
) -> None:
    """From an embedded plane to a real one: the same machines, the same nodes, and nothing is left behind."""
    folder = tmp_path / "plane"
    namespace = await real.namespace()
    target = kubeconfig_file(tmp_path / "target", real.server.kubeconfig())
    await real.install(*KINDS)

    async with management_plane(folder) as plane:
        source = plane.kubeconfig
        await plane.client.create(Namespace(metadata=ObjectMeta(name=namespace)))
        await a_cluster(plane.client, namespace)
        where = ("-n", namespace, "--kubeconfig", source)

        shown = (await clusterctl("describe", "cluster", "c", *where)).splitlines()
        for number, told in enumerate(
            (
                f"Cluster {namespace}/c 3/3 3 3 3 True Available",
                f"├─HostedControlPlane {namespace}/c, v1.36.3 1/1 1 1 1 True Ready",
                f"├─SimulatedCluster {namespace}/c True Provisioned",
                "└─Workers",
                f"└─MachineDeployment {namespace}/c-md-0, v1.36.3 2/2 2 2 2 True Available",
                "└─2 Machines... 2 2 2 True Ready",
            ),
            1,
        ):
            assert " ".join(shown[number].split()).startswith(told)

        kubeconfig = await clusterctl("get", "kubeconfig", "c", *where)
        before, known = await machines(plane.client, namespace), await nodes(kubeconfig)
        assert len(before) == len(known) == 2

        await clusterctl("move", *where, "--to-kubeconfig", target)
        assert await machines(plane.client, namespace) == {}
        assert await plane.client.list(Cluster, namespace) == []

    async with management_plane(folder, config=real.config) as plane:
        await available(plane.client, namespace)
        assert await machines(plane.client, namespace) == before
        moved = await clusterctl("get", "kubeconfig", "c", "-n", namespace, "--kubeconfig", target)
        assert await nodes(moved) == known
        await plane.client.delete(convert({"metadata": {"name": "c", "namespace": namespace}, "spec": {}}, Cluster))
        await real.gone(Cluster, "c", namespace, timeout=120)
        assert await machines(plane.client, namespace) == {}
