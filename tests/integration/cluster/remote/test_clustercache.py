"""Connections to workload clusters: made, kept, given up and made again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.remote.clustercache import ClusterCache
from kapstan.cluster.remote.connection import ClientOptions
from kapstan.cluster.remote.health import NotConnected, ProbeOptions
from kapstan.cluster.remote.sources import ConnectionSource, NodeSource
from kapstan.k8s.core_v1 import Node, NodeSpec, Secret
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime.background import background
from kapstan.runtime.cluster import Cluster as Management
from kapstan.runtime.workqueue import WorkQueue
from kapstan.testing import Environment
from kapstan.testing import embedded as an_environment

QUICK = ProbeOptions(interval=0.05, timeout=0.5, failures=3, retry=0.05, longest_retry=0.2)
PATIENT = ProbeOptions(timeout=600)


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - conditions of tests are no events
            await asyncio.sleep(0.01)


@pytest.fixture
async def workload() -> AsyncIterator[Environment]:
    async with an_environment() as environment:
        yield environment


@asynccontextmanager
async def cache_of(
    env: Environment, probe: ProbeOptions = QUICK, client: ClientOptions | None = None
) -> AsyncIterator[ClusterCache]:
    management = Management(env.client)
    clusters = ClusterCache(management.client, probe=probe, client=client)
    async with background(management.run()), background(clusters.run()):
        yield clusters


async def a_cluster(env: Environment, name: str, kubeconfig: dict[str, Any] | None) -> ObjectKey:
    """A Cluster whose infrastructure is there."""
    cluster = await env.client.create(
        Cluster(metadata=ObjectMeta(name=name, namespace="default"), spec=ClusterSpec(paused=False))
    )
    if kubeconfig is not None:
        await env.client.create(a_secret(name, kubeconfig))
    status = {"initialization": {"infrastructureProvisioned": True}}
    await env.client.patch(cluster, Patch.merge({"status": status}), subresource="status")
    return cluster.key


def a_secret(cluster: str, kubeconfig: dict[str, Any]) -> Secret:
    labels = {"cluster.x-k8s.io/cluster-name": cluster}
    metadata = ObjectMeta(name=f"{cluster}-kubeconfig", namespace="default", labels=labels)
    return Secret(metadata=metadata, data={"value": to_yaml(kubeconfig).encode()})


def pointed_at(kubeconfig: dict[str, Any], port: int) -> dict[str, Any]:
    """The same kubeconfig for a server at another port."""
    (entry,) = kubeconfig["clusters"]
    moved = {**entry, "cluster": {**entry["cluster"], "server": f"https://127.0.0.1:{port}"}}
    return {**kubeconfig, "clusters": [moved]}


@asynccontextmanager
async def black_hole() -> AsyncIterator[int]:
    """A server that takes connections and never answers; its port."""
    writers: list[asyncio.StreamWriter] = []

    def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def another_workload() -> AsyncIterator[dict[str, Any]]:
    """A workload cluster that ends with the block; its kubeconfig."""
    async with an_environment() as environment:
        yield environment.server.kubeconfig()


async def test_a_cluster_is_connected_once_it_has_infrastructure_and_a_kubeconfig(
    embedded: Environment, workload: Environment
) -> None:
    await embedded.install(Cluster)
    await workload.client.create(Node(metadata=ObjectMeta(name="n"), spec=NodeSpec(provider_id="test://1")))
    async with cache_of(embedded, ProbeOptions()) as clusters:
        key = await a_cluster(embedded, "one", None)
        with pytest.raises(NotConnected, match="no connection to the workload cluster of Cluster default/one"):
            clusters.connection(key)
        await embedded.client.create(a_secret("one", workload.server.kubeconfig()))
        await eventually(lambda: clusters.find(key))
        connection = clusters.connection(key)
        assert [node.name for node in connection.nodes_of("test://1")] == ["n"]
        assert clusters.health(key).last_success is not None


async def test_ten_black_holes_do_not_delay_ninety_others(embedded: Environment, workload: Environment) -> None:
    """Whoever asks is answered at once, and the living are connected while the dead are still being waited for.

    Nobody gives up on the dead here, however slow the machine is: if the living waited for them, they would for ever.
    """
    await embedded.install(Cluster)
    async with AsyncExitStack() as stack:
        hole = await stack.enter_async_context(black_hole())
        clusters = await stack.enter_async_context(cache_of(embedded, PATIENT, ClientOptions(timeout=600)))
        alive = workload.server.kubeconfig()
        dead = pointed_at(alive, hole)
        keys = {}
        for index in range(100):
            keys[index] = await a_cluster(embedded, f"c{index}", dead if index % 10 == 0 else alive)
        await eventually(lambda: len(list(clusters)) == 90)
        for index, key in keys.items():
            assert (clusters.find(key) is None) is (index % 10 == 0)
            assert clusters.health(key).failures == 0


async def test_a_lost_cluster_is_given_up_and_found_again(embedded: Environment) -> None:
    await embedded.install(Cluster)
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(cache_of(embedded))
        woken: list[ObjectKey] = []
        queue: WorkQueue[ObjectKey] = WorkQueue()
        source = ConnectionSource(clusters, lambda cluster: [cluster], grace=timedelta(seconds=50))
        await stack.enter_async_context(background(source.run(queue, lambda: None)))
        async with another_workload() as kubeconfig:
            key = await a_cluster(embedded, "one", kubeconfig)
            await eventually(lambda: clusters.find(key))
            woken.append((await queue.get()).key)
        await eventually(lambda: clusters.find(key) is None)
        assert woken == [key]
        assert clusters.health(key).failures >= QUICK.failures
        assert clusters.health(key).last_success is not None
        with pytest.raises(NotConnected, match="probe: no answer from https://127"):
            clusters.connection(key)
        async with another_workload() as kubeconfig:
            secret = await embedded.client.get(Secret, "one-kubeconfig", "default")
            async with embedded.client.edit(secret) as edited:
                edited.data = {"value": to_yaml(kubeconfig).encode()}
            await eventually(lambda: clusters.find(key))


async def test_a_new_kubeconfig_is_used_at_once(embedded: Environment, workload: Environment) -> None:
    await embedded.install(Cluster)
    async with cache_of(embedded, ProbeOptions()) as clusters, another_workload() as kubeconfig:
        key = await a_cluster(embedded, "one", kubeconfig)
        await eventually(lambda: clusters.find(key))
        before = clusters.connection(key)
        await workload.client.create(Node(metadata=ObjectMeta(name="here")))
        secret = await embedded.client.get(Secret, "one-kubeconfig", "default")
        async with embedded.client.edit(secret) as edited:
            edited.data = {"value": to_yaml(workload.server.kubeconfig()).encode()}
        await eventually(lambda: clusters.find(key) not in (None, before))
        assert [node.name for node in await clusters.connection(key).client.list(Node)] == ["here"]


async def test_nodes_wake_whom_they_concern(embedded: Environment, workload: Environment) -> None:
    await embedded.install(Cluster)
    async with cache_of(embedded) as clusters:
        queue: WorkQueue[ObjectKey] = WorkQueue()
        source = NodeSource(clusters, lambda cluster, node: [ObjectKey(cluster.name, node.name)])
        async with background(source.run(queue, lambda: None)):
            key = await a_cluster(embedded, "one", workload.server.kubeconfig())
            await eventually(lambda: clusters.find(key))
            await workload.client.create(Node(metadata=ObjectMeta(name="n")))
            item = await queue.get()
            assert item.key == ObjectKey("one", "n")


async def test_a_deleted_cluster_is_disconnected(embedded: Environment, workload: Environment) -> None:
    await embedded.install(Cluster)
    async with cache_of(embedded) as clusters:
        key = await a_cluster(embedded, "one", workload.server.kubeconfig())
        await eventually(lambda: clusters.find(key))
        await embedded.client.delete(Cluster, "one", "default")
        await eventually(lambda: clusters.find(key) is None)
