"""Connections over HTTP/2: shared by many, ended by the server, and never in the way."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kapstan.client import Client, Config
from kapstan.components.controlplane import ControlPlane, Options
from kapstan.k8s import core_v1 as core
from kapstan.machinery.errors import ConnectionFailed
from kapstan.machinery.meta import ObjectMeta

WATCHES = 150  # a connection of kube-apiserver carries 100 streams


def config_map(namespace: str, name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))


async def test_many_watches_leave_room_for_requests(api: Client, namespace: str) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(60):
        selector = {"metadata.name": "a"}
        watches = [
            await stack.enter_async_context(api.watch(core.ConfigMap, namespace, fields=selector))
            for _ in range(WATCHES)
        ]
        created = await api.create(config_map(namespace, "a"))
        events = await asyncio.gather(*(anext(watch) for watch in watches))
        assert {event.object.uid for event in events} == {created.uid}


async def test_a_watch_that_nobody_reads_holds_up_nothing(api: Client, namespace: str) -> None:
    """More is sent to it than any buffer holds; requests, and other watches, go on."""
    big = core.ConfigMap(metadata=ObjectMeta(name="big", namespace=namespace), data={"x": "x" * 500_000})
    async with (
        api.watch(core.ConfigMap, namespace) as lazy,
        api.watch(core.ConfigMap, namespace, fields={"metadata.name": "small"}) as quick,
        asyncio.timeout(60),
    ):
        await api.create(big)
        for number in range(20):
            big.metadata.labels = {"number": str(number)}
            await api.apply(big)
        await api.create(config_map(namespace, "small"))
        assert (await anext(quick)).object.name == "small"
        assert (await anext(lazy)).type == "ADDED"


@pytest.mark.real
async def test_no_request_is_lost_or_doubled_when_the_server_ends_connections(tmp_path: Path) -> None:
    """One request in fifty makes the server say goodbye (GOAWAY), as it does behind a load balancer."""
    options = Options(apiserver_arguments=[("goaway-chance", "0.02")])
    async with ControlPlane(tmp_path / "plane", options) as plane:
        async with Client(Config.from_kubeconfig(plane.kubeconfig())) as api:
            turn = asyncio.Semaphore(8)

            async def create(number: int) -> None:
                async with turn:
                    await api.create(config_map("default", f"m{number:03}"))

            async with asyncio.timeout(120), asyncio.TaskGroup() as group:
                for number in range(400):
                    group.create_task(create(number))
            names = [each.name for each in await api.list(core.ConfigMap, "default")]
            assert [name for name in names if name.startswith("m")] == [f"m{number:03}" for number in range(400)]


@pytest.mark.real
async def test_the_server_may_be_away_for_a_while(tmp_path: Path) -> None:
    """Requests go on when it is back, and say why they fail while it is not."""
    async with ControlPlane(tmp_path / "plane") as plane:
        async with Client(Config.from_kubeconfig(plane.kubeconfig())) as api:
            await api.create(config_map("default", "before"))
            async with api.watch(core.ConfigMap, "default", fields="metadata.name=before") as watch:
                await anext(watch)
                await plane.apiserver.stop()
                with pytest.raises((ConnectionFailed, StopAsyncIteration)):
                    while True:
                        await anext(watch)
            with pytest.raises(ConnectionFailed, match=r"create ConfigMap default/during: .* connection refused"):
                await api.create(config_map("default", "during"))
            await plane.apiserver.start()
            await plane.wait_ready()
            assert (await api.create(config_map("default", "after"))).uid
            assert await api.find(core.ConfigMap, "during", "default") is None
