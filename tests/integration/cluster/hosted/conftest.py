"""Folders and processes for tests of hosted control planes: nothing runs on after a test, however it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.components import cache
from kapstan.components.guard import Guard
from kapstan.components.process import Backoff
from kapstan.components.releases import DEFAULT_VERSION

NEXT_PATCH = DEFAULT_VERSION[:-1] + str((int(DEFAULT_VERSION[-1]) + 1) % 10)


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


@pytest.fixture(scope="session")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that has the programs once more, as another patch version.

    A program knows its version as a text; one of the same length takes its place. That is a release in which nothing
    has changed, and costs no minutes of building.
    """
    root = tmp_path_factory.mktemp("cache")
    known = cache.version_folder(DEFAULT_VERSION)
    folder = root / "kube" / NEXT_PATCH
    folder.mkdir(parents=True)
    folder.with_name(DEFAULT_VERSION).symlink_to(known)
    old, new = DEFAULT_VERSION.encode(), NEXT_PATCH.encode()
    programs = [name for name in ComponentName if name is not ComponentName.ETCD]
    for original in {(known / name).resolve() for name in programs}:
        copy = folder / original.name
        copy.write_bytes(original.read_bytes().replace(old, new))
        copy.chmod(0o755)
        for name in programs:
            if (known / name).resolve() == original and name != original.name:
                (folder / name).symlink_to(original.name)
    return root


@pytest.fixture
def next_patch(patched: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The version that follows the default one, of which there are programs."""
    monkeypatch.setenv("KAPSTAN_CACHE", str(patched))
    return NEXT_PATCH


@pytest.fixture
async def runtime(data: Path) -> AsyncIterator[ProcessRuntime]:
    async with manager(data) as runtime:
        yield runtime
