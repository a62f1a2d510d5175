"""Ours, controller-runtime and kopf doing the same work on one kube-apiserver.

Each measure starts its program anew. Peers are built or installed before anything is measured.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.items import NAMESPACE, Item, an_annotation, create_items, reset_status
from benchmarks.peers import HERE as PEERS
from benchmarks.peers import controller_runtime, kopf_python
from benchmarks.processes import Measured
from benchmarks.report import Report
from kapstan.client import Client, Patch
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing.environment import Environment, real

__all__ = ("run",)

OURS, GO, KOPF = "kapstan", "controller-runtime", "kopf"
_SETTLE = 5.0  # seconds after which memory counts as settled
_EVENTS = 1000
_RATE = 50.0  # events a second, for latency


async def run(objects: int) -> Iterable[Report]:
    programs = {
        OURS: [sys.executable, "-m", "benchmarks.kapstan_program"],
        GO: [str(controller_runtime())],
        KOPF: [str(kopf_python()), str(PEERS / "kopf" / "program.py")],
    }
    report = Report(f"Operators: {objects:,} objects on one kube-apiserver", [OURS, GO, KOPF])
    with tempfile.TemporaryDirectory() as folder:
        async with real(Item) as env:
            await create_items(env.client, objects)
            bench = _Bench(env, programs, Path(folder), objects)
            for measure in (bench.sync, bench.noop, bench.write, bench.latency):
                await measure(report)
    return [report]


class _Bench:
    def __init__(self, env: Environment, programs: dict[str, list[str]], folder: Path, objects: int) -> None:
        self._client: Client = env.client
        self._programs, self._folder, self._objects = programs, folder, objects
        self._kubeconfig = env.write_kubeconfig(folder / "kubeconfig")

    def _started(self, name: str, mode: str, *, total: int, workers: int = 1) -> Measured:
        argv = [*self._programs[name], "--mode", mode, "--total", str(total), "--workers", str(workers)]
        env = {"KUBECONFIG": str(self._kubeconfig), "PYTHONPATH": os.getcwd()}
        return Measured(argv, env, self._folder / f"{name}-{mode}.log")

    async def sync(self, report: Report) -> None:
        seconds: dict[str, float] = {}
        peak: dict[str, float] = {}
        settled: dict[str, float] = {}
        for name in self._programs:
            async with self._started(name, "sync", total=self._objects) as program:
                seconds[name] = (await program.event("synced", 600))["seconds"]
                await asyncio.sleep(_SETTLE)
                peak[name], settled[name] = program.peak(), program.resident()
        report.add("initial sync, from start", "s", seconds)
        report.add("memory at its peak", "MB", peak)
        report.add("memory when settled", "MB", settled)

    async def noop(self, report: Report) -> None:
        rate: dict[str, float] = {}
        cpu: dict[str, float] = {}
        for name in self._programs:
            async with self._started(name, "noop", total=self._objects) as program:
                done = await program.event("done", 600)
                rate[name] = done["reconciles"] / done["seconds"]
                cpu[name] = program.cpu() * 1000 / done["reconciles"]
        report.add("reconciles without a write", "1/s", rate)
        report.add("CPU per 1,000 of these, start included", "s", cpu)

    async def write(self, report: Report) -> None:
        rate: dict[str, float] = {}
        cpu: dict[str, float] = {}
        for name in self._programs:
            await reset_status(self._client, self._objects)
            async with self._started(name, "write", total=self._objects, workers=10) as program:
                await program.event("synced", 600) if name != KOPF else None
                done = await program.event("done", 1200)
                rate[name] = done["reconciles"] / done["seconds"]
                cpu[name] = program.cpu() * 1000 / done["reconciles"]
        report.add("reconciles with one status write, 10 workers", "1/s", rate)
        report.add("CPU per 1,000 of these, start included", "s", cpu)

    async def latency(self, report: Report) -> None:
        p50: dict[str, float] = {}
        p99: dict[str, float] = {}
        for name in self._programs:
            await self._forget_sent()
            async with self._started(name, "latency", total=_EVENTS) as program:
                await self._warm(program, name)
                async with asyncio.TaskGroup() as group:
                    measured = group.create_task(program.event("latency", 120))
                    group.create_task(self._touch())
                p50[name], p99[name] = measured.result()["p50"], measured.result()["p99"]
        report.add("event to reconcile, p50", "ms", p50)
        report.add("event to reconcile, p99", "ms", p99)

    async def _warm(self, program: Measured, name: str) -> None:
        """Let the program be through with the initial list."""
        if name != KOPF:
            await program.event("synced", 600)
        before = -1.0
        while program.cpu() - before > 0.05:
            before = program.cpu()
            await asyncio.sleep(1.0)

    async def _touch(self) -> None:
        """Write to one object after the other, at a steady rate; each says when it was written."""
        start = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(_EVENTS):
                await asyncio.sleep(max(0.0, start + number / _RATE - time.monotonic()))
                group.create_task(self._send(number % self._objects))

    async def _send(self, number: int) -> None:
        item = Item(metadata=ObjectMeta(name=f"item-{number:05d}", namespace=NAMESPACE))
        await self._client.patch(item, Patch.merge(an_annotation(time.monotonic_ns())))

    async def _forget_sent(self) -> None:
        for number in range(min(_EVENTS, self._objects)):
            item = Item(metadata=ObjectMeta(name=f"item-{number:05d}", namespace=NAMESPACE))
            await self._client.patch(item, Patch.merge({"metadata": {"annotations": None}}))
