"""How small it is: what an import costs, and what managers that have nothing to do keep in memory."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.processes import Measured
from benchmarks.report import Report
from kapstan.testing.environment import Environment

__all__ = ("LIMIT", "OURS", "footprint")

OURS = "kapstan"
LIMIT = 128  # MiB: what kubebuilder's manager.yaml allows
_SAMPLE = Path(__file__).parents[1] / "samples" / "memcached"
_IMPORTS = 9
_SETTLE = 5.0
_FLAGS = ("--leader-elect", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")

_IMPORT = """
import sys, time
before = time.perf_counter()
{statement}
seconds = time.perf_counter() - before
import json
resident = next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]
print(json.dumps([seconds * 1000, int(resident) / 1024]))
"""


async def footprint(env: Environment, folder: Path) -> Report:
    """Measure imports, and managers as they are deployed: with probes, secure metrics and leader election."""
    report = Report("Footprint", [OURS])
    report.add("an empty Python: memory", "MiB", {OURS: _imported("pass")[1]})
    for statement in ("import kapstan", "from kapstan import Manager, Reconciler, controller"):
        milliseconds, resident = _imported(statement)
        report.add(f"`{statement}`: time", "ms", {OURS: milliseconds})
        report.add(f"`{statement}`: memory", "MiB", {OURS: resident})
    kubeconfig = env.write_kubeconfig(folder / "footprint.kubeconfig")
    await env.install(_SAMPLE / "config" / "crd" / "bases")
    for what, module, path in (
        ("a minimal manager", "benchmarks.minimal_manager", _SAMPLE.parents[1]),
        ("the Memcached sample's manager", "memcached_operator", _SAMPLE / "src"),
    ):
        seconds, resident = await _running(module, path, kubeconfig, folder)
        report.add(f"{what}: start until it works", "s", {OURS: seconds})
        report.add(f"{what}: memory", "MiB", {OURS: resident})
    report.add("  that is, of the 128 MiB which kubebuilder allows", "%", {OURS: 100 * resident / LIMIT})
    return report


def _imported(statement: str) -> tuple[float, float]:
    """Milliseconds and MiB, the medians of several processes."""
    code = _IMPORT.format(statement=statement)
    found = [json.loads(subprocess.check_output([sys.executable, "-c", code])) for _ in range(_IMPORTS)]
    return statistics.median(one[0] for one in found), statistics.median(one[1] for one in found)


async def _running(module: str, path: Path, kubeconfig: Path, folder: Path) -> tuple[float, float]:
    """Seconds until its controller works, and MiB when it has settled."""
    log = folder / f"{module}.log"
    environment = {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": f"{path}{os.pathsep}{os.getcwd()}"}
    began = time.monotonic()
    async with Measured([sys.executable, "-m", module, *_FLAGS], environment, log) as program:
        async with asyncio.timeout(120):
            while "Starting workers" not in log.read_text():
                if program.process.returncode is not None:
                    raise RuntimeError(f"{module} has ended: {log.read_text()}")
                await asyncio.sleep(0.01)
        seconds = time.monotonic() - began
        await asyncio.sleep(_SETTLE)
        return seconds, program.resident()
