"""The embedded API server and kube-apiserver with etcd under the same load, one after the other.

Ours runs in memory, and once more with its data on disk; kube-apiserver's etcd runs without fsync, as test
environments have it, so that the disk is in nobody's way but that of ours on disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.peers import load_program
from benchmarks.processes import Measured, cpu_of, resident_of
from benchmarks.report import Report
from kapstan.client import Client, Config
from kapstan.components.controlplane import ControlPlane
from kapstan.k8s.core_v1 import Namespace
from kapstan.machinery.errors import ConnectionFailed

__all__ = ("run",)

OURS, DISK, KUBE = "kapstan, in memory", "kapstan, on disk", "kube-apiserver + etcd"
_WORKERS = 16
_WATCHERS = 200
_WATCHED = 500
_LISTS = 10
_CLUSTERS = 200


class _Server:
    """A server under load: how to reach it, and which processes it is."""

    def __init__(self, kubeconfig: Path, pids: list[int], started: float) -> None:
        self.kubeconfig, self.pids, self.started = kubeconfig, pids, started

    def resident(self) -> float:
        return sum(resident_of(pid) for pid in self.pids)

    def cpu(self) -> float:
        return sum(cpu_of(pid) for pid in self.pids)


async def run(objects: int) -> AsyncIterator[Report]:
    load = load_program()
    report = Report(f"API servers: {objects:,} ConfigMaps of about 1 kB", [OURS, DISK, KUBE])
    results: dict[str, dict[tuple[str, str], float]] = {}
    for name, serve in ((OURS, _memory), (DISK, _disk), (KUBE, _kube)):
        with tempfile.TemporaryDirectory() as folder:
            async with serve(Path(folder)) as server:
                results[name] = await _measured(server, str(load), objects)
    for measure, unit in results[OURS]:
        report.add(measure, unit, {name: values[measure, unit] for name, values in results.items()})
    yield report
    clusters = Report(f"Logical clusters: {_CLUSTERS} more in one process, each idle", [OURS])
    clusters.add("memory each", "kB", {OURS: await _per_cluster()})
    yield clusters


async def _measured(server: _Server, load: str, objects: int) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {("start to first answer", "s"): server.started}
    found["memory, empty", "MB"] = server.resident()

    async def rate(mode: str, count: int, *extra: str) -> float:
        process = await asyncio.create_subprocess_exec(
            load, "-mode", mode, "-count", str(count), "-workers", str(_WORKERS), *extra,
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)}, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()
        if process.returncode:
            raise SystemExit(f"the load program failed in mode {mode}")
        return float(json.loads(output)["rate"])

    before = server.cpu()
    found["creates", "1/s"] = await rate("create", objects)
    found["CPU per 1,000 creates", "s"] = (server.cpu() - before) * 1000 / objects
    found["memory, with all objects", "MB"] = server.resident()
    found["updates", "1/s"] = await rate("update", objects)
    found["server-side applies", "1/s"] = await rate("apply", objects // 2)
    found["lists of all objects", "1/s"] = await rate("list", _LISTS)
    found[f"events to {_WATCHERS} watchers", "1/s"] = await rate("watch", _WATCHED, "-watchers", str(_WATCHERS))
    return found


@asynccontextmanager
async def _memory(folder: Path) -> AsyncIterator[_Server]:
    async with _embedded(folder) as server:
        yield server


@asynccontextmanager
async def _disk(folder: Path) -> AsyncIterator[_Server]:
    async with _embedded(folder, "--data-dir", str(folder / "data")) as server:
        yield server


@asynccontextmanager
async def _embedded(folder: Path, *arguments: str) -> AsyncIterator[_Server]:
    kubeconfig = folder / "kubeconfig"
    kapstan = Path(sys.executable).parent / "kapstan"
    argv = [str(kapstan), "apiserver", "--kubeconfig", str(kubeconfig), *arguments]
    began = time.monotonic()
    async with Measured(argv, {}, folder / "server.log") as program:
        await _until(kubeconfig.exists)
        await _answers(kubeconfig)
        yield _Server(kubeconfig, [program.process.pid], time.monotonic() - began)


@asynccontextmanager
async def _kube(folder: Path) -> AsyncIterator[_Server]:
    plane = ControlPlane(folder / "plane")
    try:
        began = time.monotonic()
        await plane.start()
        await _answers(plane.kubeconfig_file)
        seconds = time.monotonic() - began
        await plane.wait_ready()
        yield _Server(plane.kubeconfig_file, [p.pid for p in plane.processes.values() if p.pid], seconds)
    finally:
        await plane.stop()


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def _answers(kubeconfig: Path) -> None:
    """Wait until the server answers an authenticated request."""
    while True:
        try:
            async with Client(Config.load(kubeconfig)) as client:
                await client.list(Namespace)
                return
        except (ConnectionFailed, ssl.SSLError, OSError):
            await asyncio.sleep(0.005)


async def _per_cluster() -> float:
    """What one more idle logical cluster costs, in kB; in a process of its own, so that nothing else counts."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.logical_clusters", str(_CLUSTERS), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return float(output)
