"""The same work done by Cluster API's own controllers, in Go: core, kubeadm bootstrap and control plane, and in-memory
machines, all without delays and with their default flags, on the kube-apiserver that is given to them.

One control plane machine and three workers a cluster; what is measured is what `benchmarks.cluster` measures of ours.
`python -m benchmarks.capi COUNT` measures it alone.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from benchmarks.cluster_program import apply, calm, is_up, until
from benchmarks.peers.capi.build import HERE
from benchmarks.peers.capi.managers import GoManager, managers
from benchmarks.processes import cpu_of, peak_of
from benchmarks.report import Report
from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster
from kapstan.components.controlplane import ControlPlane

__all__ = ("NAME", "measured")

NAME = "Cluster API in Go, kube-apiserver + etcd"
_IDLE = 10.0  # seconds
_RENEWALS = 4  # requests a second, by managers that only keep their leases
_PATIENCE = 1800.0  # seconds

# What is measured, with its unit.
Measures: TypeAlias = dict[tuple[str, str], float]


async def measured(count: int, plane: ControlPlane) -> Measures:
    """What so many clusters take on an API server on which nothing else runs."""
    logging.getLogger("kapstan.client.warnings").setLevel(logging.ERROR)  # old versions of its kinds, all deprecated
    servers = [process.pid for process in plane.processes.values() if process.pid]
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Client(Config.load(plane.kubeconfig_file)) as client,
            managers(client, plane.kubeconfig_file, Path(folder) / "managers") as running,
            asyncio.timeout(_PATIENCE),
        ):
            return await _lives(client, count, _Spent(running, servers, urlsplit(client.config.server).netloc))


class _Spent:
    """What the managers have spent so far."""

    def __init__(self, running: Mapping[str, GoManager], servers: Collection[int], host: str) -> None:
        self._running, self._servers, self._host = running.values(), servers, host
        self._pids = [manager.process.pid for manager in self._running if manager.process.pid]

    async def requests(self) -> int:
        return sum([await manager.requests_to(self._host) for manager in self._running])

    def cpu(self) -> float:
        """Of the managers, in seconds."""
        return sum(map(cpu_of, self._pids))

    def cpu_with_servers(self) -> float:
        return self.cpu() + sum(map(cpu_of, self._servers))

    def peak(self) -> float:
        """Of all managers together, in MiB."""
        return sum(map(peak_of, self._pids))


async def _lives(client: Client, count: int, spent: _Spent) -> Measures:
    cpu, requests, began = spent.cpu_with_servers(), await spent.requests(), time.monotonic()
    await apply(client, (HERE / "in-memory.yaml").read_text(), count)
    await until(client, count, is_up)
    found: Measures = {
        ("apply to Available", "s"): time.monotonic() - began,
        ("CPU a cluster", "s"): (spent.cpu_with_servers() - cpu) / count,
        ("API requests a cluster", ""): (await spent.requests() - requests) / count,
        ("peak memory", "MB"): spent.peak(),
    }
    await calm(spent.requests, _RENEWALS)
    cpu, requests = spent.cpu(), await spent.requests()
    await asyncio.sleep(_IDLE)
    found["CPU while idle", "cores"] = (spent.cpu() - cpu) / _IDLE
    found["API requests while idle", "1/s"] = (await spent.requests() - requests) / _IDLE
    cpu, requests, began = spent.cpu_with_servers(), await spent.requests(), time.monotonic()
    for cluster in await client.list(Cluster, "default"):
        await client.delete(cluster)
    await until(client, 0, lambda cluster: True)
    found["deletion", "s"] = time.monotonic() - began
    found["CPU a deletion", "s"] = (spent.cpu_with_servers() - cpu) / count
    found["API requests a deletion", ""] = (await spent.requests() - requests) / count
    return found


async def _alone(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Path(folder))
        try:
            await plane.start()
            await plane.wait_ready()
            report = Report(f"Clusters: {count}", [NAME])
            for (measure, unit), value in (await measured(count, plane)).items():
                report.add(measure, unit, {NAME: value})
        finally:
            await plane.stop()
    report.show()


if __name__ == "__main__":
    asyncio.run(_alone(int(sys.argv[1])))
