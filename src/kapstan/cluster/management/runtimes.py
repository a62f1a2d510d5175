"""What hosted control planes run in, below a data folder that one manager has at a time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.runtime.interface import Runtime
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.management.webhooks import LOOPBACK

__all__ = ("runtimes",)


async def runtimes(stack: AsyncExitStack, folder: Path, address: str = LOOPBACK) -> Mapping[RuntimeType, Runtime]:
    """The runtimes, which listen on this address. Their processes end with us."""
    # First what only one can have: a second manager of the folder fails here, and ends no processes of the first.
    simulated = await stack.enter_async_context(SimulatedRuntime(folder / "simulated", address=address))
    processes = await stack.enter_async_context(ProcessRuntime(folder / "hosted", address=address))
    stack.push_async_callback(processes.stop)
    return {"Process": processes, "Simulated": simulated}
