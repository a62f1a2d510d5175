"""The programs that the benchmarks run still run: in small, nothing is measured."""

from __future__ import annotations

import asyncio
import json
import sys


async def _said(module: str, *arguments: str) -> str:
    """What a program prints on its way to a good end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_idle_logical_clusters_are_weighed() -> None:
    assert float(await _said("benchmarks.logical_clusters", "5")) >= 0


async def test_a_cluster_comes_up_and_goes() -> None:
    said = [json.loads(line)["event"] for line in (await _said("benchmarks.cluster_program", "1")).splitlines()]
    assert said == ["started", "available", "idle", "deleted"]
