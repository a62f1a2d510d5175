"""One manager at a time has a data folder."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kapstan.apiserver.storage.interface import StorageError
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.management.runtimes import runtimes


async def test_a_second_manager_does_not_come_near_the_processes_of_the_first(tmp_path: Path) -> None:
    """It would end them when it gives up."""
    async with SimulatedRuntime(tmp_path / "simulated"):
        async with AsyncExitStack() as stack:
            with pytest.raises(StorageError, match="is in use"):
                await runtimes(stack, tmp_path)
        assert not (tmp_path / "hosted").exists()
