"""Clusters from manifests to Available, and their deletion: one hosted control plane and three workers each, simulated
without any delay. Everything runs in one process, on the embedded API server or on kube-apiserver with etcd; CPU time
includes the API server. Requests are those of the controllers to the management API server, events and watches
included. Idle is what follows once the events that were waiting have been written: ten seconds of nothing to do, with
the leases of all nodes. Up to ten clusters, Cluster API's own controllers in Go (core, kubeadm bootstrap and control
plane, in-memory infrastructure, no delays, default flags, 1 control plane machine and 3 workers) do the same on
kube-apiserver, with a control plane that is one machine more; memory is that of the four managers. For orientation: on
such a machine they took 231 s for 50 clusters.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks import capi
from benchmarks.processes import Measured, cpu_of
from benchmarks.report import Report
from kapstan.components.controlplane import ControlPlane

__all__ = ("run",)

EMBEDDED, KUBE = "kapstan, embedded API server", "kapstan, kube-apiserver + etcd"
COUNTS = (1, 10, 50, 100, 500)
_USUAL, _WORKERS = 10_000, 1_000
_GO_COUNT = 10  # more of them take the Go controllers many minutes
_PATIENCE = 3600.0  # seconds


async def run(objects: int) -> AsyncIterator[Report]:
    """One report for each number of clusters; with fewer than the usual 10,000 objects, fewer clusters."""
    for count in COUNTS:
        if count > 1 and count > objects // 20:
            break
        names = [EMBEDDED, KUBE, *([capi.NAME] if count <= _GO_COUNT else [])]
        report = Report(f"{count:,} clusters" if count > 1 else "One cluster", names)
        results = {EMBEDDED: await _measured(count, [], [])}
        async with _kube() as plane:
            pids = [process.pid for process in plane.processes.values() if process.pid]
            results[KUBE] = await _measured(count, [str(plane.kubeconfig_file)], pids)
        if count <= _GO_COUNT:
            async with _kube() as plane:
                results[capi.NAME] = await capi.measured(count, plane)
        for measure, unit in results[EMBEDDED]:
            report.add(measure, unit, {name: values[measure, unit] for name, values in results.items()})
        yield report
    if objects >= _USUAL:
        yield await _large()


async def _large() -> Report:
    """One cluster with many workers instead of many with few."""
    report = Report(f"One cluster with {_WORKERS:,} workers", [EMBEDDED])
    for (measure, unit), value in (await _measured(1, ["--workers", str(_WORKERS)], [])).items():
        report.add(measure, unit, {EMBEDDED: value})
    return report


async def _measured(count: int, arguments: Sequence[str], servers: Sequence[int]) -> dict[tuple[str, str], float]:
    argv = [sys.executable, "-m", "benchmarks.cluster_program", str(count), *arguments]

    def cpu(said: dict[str, Any]) -> float:
        return float(said["process_cpu"]) + sum(cpu_of(pid) for pid in servers)

    with tempfile.TemporaryDirectory() as folder:
        async with Measured(argv, {}, Path(folder) / "log") as program:
            began = cpu(await program.event("started", 120))
            available = await program.event("available", _PATIENCE)
            up = cpu(available)
            idle = await program.event("idle", _PATIENCE)
            idle_cpu = cpu(idle)
            deleted = await program.event("deleted", _PATIENCE)
            gone = cpu(deleted)
    return {
        ("apply to Available", "s"): available["seconds"],
        ("CPU a cluster", "s"): (up - began) / count,
        ("API requests a cluster", ""): available["requests"],
        ("peak memory", "MB"): available["peak"],
        ("CPU while idle", "cores"): idle["cpu"],
        ("API requests while idle", "1/s"): idle["requests"],
        ("deletion", "s"): deleted["seconds"],
        ("CPU a deletion", "s"): (gone - idle_cpu) / count,
        ("API requests a deletion", ""): deleted["requests"],
    }


@asynccontextmanager
async def _kube() -> AsyncIterator[ControlPlane]:
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Path(folder))
        try:
            await plane.start()
            await plane.wait_ready()
            yield plane
        finally:
            await plane.stop()
