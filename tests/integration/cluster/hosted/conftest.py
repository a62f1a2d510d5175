"""Folders and processes for tests of hosted control planes: nothing runs on after a test, however it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.components.guard import Guard
from kapstan.components.process import Backoff


@pytest.fixture
def guards() -> Iterator[list[Guard]]:
    """End processes even if the test run is killed."""
    guards: list[Guard] = []
    yield guards
    for guard in guards:
        guard.release()


@pytest.fixture
async def data(tmp_path: Path, guards: list[Guard]) -> AsyncIterator[Path]:
    """A folder for control planes."""
    folder = tmp_path / "data"
    guards.append(Guard(folder / "shared.etcd"))
    yield folder
    async with ProcessRuntime(folder) as runtime:
        await runtime.stop(grace=0)


@pytest.fixture
def guard(data: Path, guards: list[Guard]) -> Callable[[str], None]:
    """Have the processes of a control plane ended with the test run."""
    return lambda name: guards.append(Guard(data / name))


def manager(data: Path) -> ProcessRuntime:
    """A runtime under a manager. When it goes, its processes run on."""
    return ProcessRuntime(data, backoff=Backoff(first=0.05, limit=1.0))


@pytest.fixture
async def runtime(data: Path) -> AsyncIterator[ProcessRuntime]:
    async with manager(data) as runtime:
        yield runtime
