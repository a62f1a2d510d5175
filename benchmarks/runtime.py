"""Ours, controller-runtime and kopf doing the same work on one kube-apiserver, one after the other.

Each measure starts its program anew. Everything is measured in several rounds, in which the programs take turns, and
the median counts: a moment in which the machine is busy with something else then hits nobody in particular. Objects
have 2 to 3 kB. CPU time is that of all threads from the first reconcile to the last; latency is from before the write
that causes an event to the beginning of the reconcile, at 50 events a second.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeAlias

from benchmarks.footprint import footprint
from benchmarks.items import Item, annotate, create_items, set_status
from benchmarks.peers import HERE as PEERS
from benchmarks.peers import controller_runtime, kopf_python
from benchmarks.processes import Measured
from benchmarks.report import Report
from kapstan.client import Client
from kapstan.testing.environment import Environment, real

__all__ = ("run",)

OURS, GO, KOPF = "kapstan", "controller-runtime", "kopf"
_ROUNDS = 3
_SETTLE = 5.0  # seconds after which memory counts as settled
_EVENTS = 400  # a round
_RATE = 50.0  # events a second, for latency
_WORKERS = 10
_WRITES = 2000  # of the objects, this many at most have their status written

# What is measured and its unit.
Measure: TypeAlias = tuple[str, str]
# What one program did in one round.
Found: TypeAlias = dict[Measure, float]


async def run(objects: int) -> AsyncIterator[Report]:
    programs = {
        OURS: [sys.executable, "-m", "benchmarks.kapstan_program"],
        GO: [str(controller_runtime())],
        KOPF: [str(kopf_python()), str(PEERS / "kopf" / "program.py")],
    }
    with tempfile.TemporaryDirectory() as folder:
        async with real(Item) as env:
            small = await footprint(env, Path(folder))
            await create_items(env.client, objects)
            await set_status(env.client, range(_WRITES, objects), {"observedGeneration": 1})
            bench = _Bench(env, programs, Path(folder), objects)
            found: defaultdict[Measure, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for number in range(_ROUNDS):
                async for name, measured in bench.round():
                    said = ", ".join(f"{value:.3g} {unit}" for (_, unit), value in measured.items())
                    print(f"round {number + 1}, {name}: {said}", file=sys.stderr)
                    for measure, value in measured.items():
                        found[measure][name].append(value)
    report = Report(f"Operators: {objects:,} objects on one kube-apiserver, median of {_ROUNDS} rounds", [*programs])
    for (what, unit), values in found.items():
        report.add(what, unit, {name: statistics.median(of_rounds) for name, of_rounds in values.items()})
    yield report
    yield small


class _Bench:
    """One round after the other of all programs."""

    def __init__(self, env: Environment, programs: dict[str, list[str]], folder: Path, objects: int) -> None:
        self._client: Client = env.client
        self._programs, self._folder, self._objects = programs, folder, objects
        self._kubeconfig = env.write_kubeconfig(folder / "kubeconfig")

    async def round(self) -> AsyncIterator[tuple[str, Found]]:
        for measure in (self._sync, self._noop, self._write, self._latency):
            for name in self._programs:
                yield name, await measure(name)

    async def _sync(self, name: str) -> Found:
        began = time.monotonic()
        async with self._started(name, "sync", total=self._objects) as program:
            itself = (await program.event("synced", 600))["seconds"]
            seconds = time.monotonic() - began
            await asyncio.sleep(_SETTLE)
            return {
                ("initial sync, from the start of the process", "s"): seconds,
                ("initial sync, once the program is loaded", "s"): itself,
                ("memory at its peak", "MiB"): program.peak(),
                ("memory when settled", "MiB"): program.resident(),
            }

    async def _noop(self, name: str) -> Found:
        return await self._reconciled(name, "noop", "reconciles without a write", total=self._objects, workers=1)

    async def _write(self, name: str) -> Found:
        total = min(_WRITES, self._objects)
        await set_status(self._client, range(total), None)
        what = f"reconciles with one status write, {_WORKERS} workers"
        return await self._reconciled(name, "write", what, total=total, workers=_WORKERS)

    async def _reconciled(self, name: str, mode: str, what: str, *, total: int, workers: int) -> Found:
        async with self._started(name, mode, total=total, workers=workers) as program:
            done = await program.event("done", 1200)
            return {
                (what, "1/s"): done["reconciles"] / done["seconds"],
                (f"CPU per 1,000 {what.partition(',')[0]}", "s"): done["cpu"] * 1000 / done["reconciles"],
            }

    async def _latency(self, name: str) -> Found:
        await self._forget_sent()
        async with self._started(name, "latency", total=_EVENTS) as program:
            await self._warm(program, name)
            async with asyncio.TaskGroup() as group:
                measured = group.create_task(program.event("latency", 120))
                group.create_task(self._touch())
            said = measured.result()
            return {("event to reconcile, p50", "ms"): said["p50"], ("event to reconcile, p99", "ms"): said["p99"]}

    def _started(self, name: str, mode: str, *, total: int, workers: int = 1) -> Measured:
        argv = [*self._programs[name], "--mode", mode, "--total", str(total), "--workers", str(workers)]
        env = {"KUBECONFIG": str(self._kubeconfig), "PYTHONPATH": os.getcwd()}
        return Measured(argv, env, self._folder / f"{name}-{mode}.log")

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
        await annotate(self._client, number, time.monotonic_ns())

    async def _forget_sent(self) -> None:
        for number in range(min(_EVENTS, self._objects)):
            await annotate(self._client, number, None)
