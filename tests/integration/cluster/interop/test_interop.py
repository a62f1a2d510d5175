"""Ours beside Cluster API's own controllers in Go, on both API servers: all that they share is the contract.

The Go programs are built the first time, which takes minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from benchmarks.peers.capi.build import HERE, PROVIDERS
from benchmarks.peers.capi.managers import managers

from kapstan.cluster.management import management_plane
from kapstan.cluster.management.providers import Provider
from kapstan.cluster.templates.flavors import flavor
from kapstan.testing import Environment, embedded, real

from .life import Life

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

Server: TypeAlias = Callable[[], AbstractAsyncContextManager[Environment]]

SERVERS = [pytest.param(embedded, id="embedded"), pytest.param(real, id="real", marks=pytest.mark.real)]
IN_MEMORY = (HERE / "in-memory.yaml").read_text()


@asynccontextmanager
async def world(
    server: Server, folder: Path, ours: Collection[Provider], go: Collection[str]
) -> AsyncIterator[Environment]:
    """A management cluster with these providers of ours, and those in Go. Whoever is core brings core's kinds first."""
    async with server() as env, AsyncExitStack() as stack:
        kubeconfig = env.write_kubeconfig(folder / "kubeconfig")
        theirs = managers(env.client, kubeconfig, folder / "go", go)
        plane = management_plane(folder / "plane", config=env.config, providers=ours)
        if "core" in ours:
            await stack.enter_async_context(plane)
            await stack.enter_async_context(theirs)
        else:
            await stack.enter_async_context(theirs)
            if ours:
                await stack.enter_async_context(plane)
        yield env


@pytest.mark.parametrize("server", SERVERS)
async def test_our_core_works_with_go_providers(server: Server, tmp_path: Path) -> None:
    """Kubeadm bootstrap, KubeadmControlPlane and in-memory machines are Go's; Cluster and Machines are ours."""
    async with world(server, tmp_path, ["core"], ["bootstrap", "controlplane", "infrastructure"]) as env:
        await _lives(Life(env, IN_MEMORY))


@pytest.mark.parametrize("server", SERVERS)
async def test_our_providers_work_with_the_go_core(server: Server, tmp_path: Path) -> None:
    """Hosted control planes and simulated machines are ours; Cluster and Machines are Go's, kinds and webhooks too."""
    async with world(server, tmp_path, ["hosted", "simulated"], ["core"]) as env:
        await _lives(Life(env, flavor("simulated")))


async def test_go_controllers_work_on_the_embedded_server(tmp_path: Path) -> None:
    """Nothing is ours but the API server."""
    async with world(embedded, tmp_path, [], PROVIDERS) as env:
        await _lives(Life(env, IN_MEMORY))


async def test_go_controllers_make_ten_clusters_on_the_embedded_server(tmp_path: Path) -> None:
    async with world(embedded, tmp_path, [], PROVIDERS) as env:
        lives = [Life(env, IN_MEMORY, f"c{number}") for number in range(10)]
        await _all(life.begins() for life in lives)
        await _all(life.becomes_available() for life in lives)
        await _all(life.ends() for life in lives)


async def _lives(life: Life) -> None:
    await life.begins()
    await life.becomes_available()
    await life.is_scaled(5)
    await life.is_scaled(3)
    await life.heals()
    await life.is_upgraded()
    await life.ends()


async def _all(steps: Iterable[Coroutine[None, None, object]]) -> None:
    async with asyncio.TaskGroup() as group:
        for step in steps:
            group.create_task(step)
