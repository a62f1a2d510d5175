"""Hosted control planes beside the physical limit: the same programs, started by hand in the same run.

From creating the Cluster object to the first answer that an administrator gets with the kubeconfig of its Secret, and
to the condition Available, with etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes of
their own for every control plane. Started by hand is: certificates, then each component as soon as what it needs
answers, and no objects inside. For orientation: on virtual machines the same takes about 540 s until it is available,
and Kamaji publishes 16 s.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import cpu_of, resident_of
from benchmarks.report import Report
from kapstan.client import Client, Config
from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.management import ManagementPlane, management_plane
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import documents_of
from kapstan.components import assets, pidfile
from kapstan.components.controlplane import ControlPlane, Options
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.conditions import is_true
from kapstan.machinery.errors import APIError, ConnectionFailed

__all__ = ("run",)

OURS, BARE = "kapstan, HostedControlPlane", "started by hand"
ROUNDS = 3
AT_ONCE = (10, 30)
_LOOK_AGAIN = 0.01
_IDLE_SECONDS = 30.0

Times = tuple[float, float]


async def run(objects: int) -> AsyncIterator[Report]:
    await assets.fetch()
    one = Report("One hosted control plane, from its object to its answer", [OURS, BARE])
    ours, bare = await _alternating(ROUNDS)
    for index, measure in enumerate(("first authenticated answer", "available")):
        medians = {
            OURS: statistics.median(times[index] for times in ours),
            BARE: statistics.median(times[index] for times in bare),
        }
        one.add(f"{measure}, median of {ROUNDS}", "s", medians)
    yield one
    many = Report("Many at once", [OURS, BARE])
    for count in AT_ONCE:
        hosted = await _hosted_at_once(count)
        seconds = {OURS: hosted.seconds, BARE: await _bare_at_once(count)}
        many.add(f"{count} at once: until all are available", "s", seconds)
        many.add(f"memory of each of {count}", "MiB", {OURS: hosted.memory})
        many.add(f"idle CPU of each of {count}", "% of a core", {OURS: hosted.idle})
    yield many


async def _alternating(rounds: int) -> tuple[list[Times], list[Times]]:
    """By turns, so that neither has the warmer machine."""
    ours, bare = [], []
    for _ in range(rounds):
        bare.append(await _in_folder(_bare))
        ours.append(await _in_folder(_hosted))
    return ours, bare


async def _in_folder(measure: Callable[[Path], Awaitable[Times]]) -> Times:
    with tempfile.TemporaryDirectory() as folder:
        return await measure(Path(folder))


async def _bare(folder: Path) -> Times:
    began = time.perf_counter()
    plane = ControlPlane(folder, Options(controller_manager=True, scheduler=True, durable=True))
    try:
        await plane.start()
        answered = time.perf_counter() - began
        await plane.wait_ready()
        return answered, time.perf_counter() - began
    finally:
        await plane.stop()


async def _hosted(folder: Path) -> Times:
    async with management_plane(folder) as plane:
        return await _made(plane, "bench")


async def _made(plane: ManagementPlane, name: str) -> Times:
    """How long it takes from the object to the first answer and to Available."""
    began = time.perf_counter()
    values = {"CLUSTER_NAME": name, "NAMESPACE": "default", "WORKER_MACHINE_COUNT": "0"}
    for document in documents_of(flavor("hosted"), values):
        await plane.client.create(document)
    async with asyncio.TaskGroup() as group:
        answered = group.create_task(_answered(plane.client, name))
        available = group.create_task(_available(plane.client, name))
    return answered.result() - began, available.result() - began


async def _answered(client: Client, name: str) -> float:
    secret = await _kubeconfig(client, name)
    async with Client(Config.from_kubeconfig(secret.data["value"])) as tenant:
        while True:
            try:
                await tenant.request("GET", "/api/v1/namespaces")
            except (APIError, ConnectionFailed):
                await asyncio.sleep(_LOOK_AGAIN)
            else:
                return time.perf_counter()


async def _kubeconfig(client: Client, name: str) -> Secret:
    """Waited for, not asked for again and again: others start meanwhile, in this process too."""
    async with client.watch(Secret, "default", fields={"metadata.name": f"{name}-kubeconfig"}) as events:
        async for event in events:
            return event.object
    raise RuntimeError("the watch ended")


async def _available(client: Client, name: str) -> float:
    async with client.watch(HostedControlPlane, "default", fields={"metadata.name": name}) as events:
        async for event in events:
            if is_true(event.object.status.conditions, "Available"):
                return time.perf_counter()
    raise RuntimeError("the watch ended")


class _Many(NamedTuple):
    """Several control planes that were made at once, and each's share of memory and CPU, the manager's included."""

    seconds: float
    memory: float
    idle: float


async def _hosted_at_once(count: int) -> _Many:
    with tempfile.TemporaryDirectory() as folder:
        async with management_plane(Path(folder)) as plane:
            async with asyncio.TaskGroup() as group:
                made = [group.create_task(_made(plane, f"bench-{number}")) for number in range(count)]
            pids = [os.getpid(), *_components(plane.folder)]
            memory = sum(map(resident_of, pids)) / count
            before = sum(map(cpu_of, pids))
            await asyncio.sleep(_IDLE_SECONDS)
            idle = (sum(map(cpu_of, pids)) - before) / _IDLE_SECONDS / count
        return _Many(max(task.result()[1] for task in made), memory, 100 * idle)


async def _bare_at_once(count: int) -> float:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = Options(controller_manager=True, scheduler=True, durable=True)
        planes = [ControlPlane(Path(folder) / str(number), options) for number in range(count)]
        try:
            async with asyncio.TaskGroup() as group:
                for plane in planes:
                    group.create_task(_ready(plane))
            return time.perf_counter() - began
        finally:
            await asyncio.gather(*(plane.stop() for plane in planes))


async def _ready(plane: ControlPlane) -> None:
    await plane.start()
    await plane.wait_ready(timeout=600)


def _components(folder: Path) -> list[int]:
    """The processes of all control planes."""
    found = map(pidfile.read, folder.glob("hosted/*/run/*.pid"))
    return [identity.pid for identity in found if identity is not None]
