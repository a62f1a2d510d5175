"""Folders and processes for tests of hosted control planes: nothing runs on after a test, however it ends."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.driver import manager
from tests.integration.cluster.hosted.management import Management

from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.components import assets, cache
from kapstan.components.guard import Guard
from kapstan.components.releases import DEFAULT_VERSION
from kapstan.testing import Environment

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
async def previous_minor() -> str:
    """A version before the default one, of which there are programs; to build them takes minutes."""
    version = "v1.35.4"
    await assets.fetch([name for name in ComponentName if name is not ComponentName.ETCD], version)
    return version


# What an API server does that does not work, and what is said of it. Who listens gets connections, also if it hangs.
ENDS = "echo this release is broken >&2; exit 1"
HANGS = f"""exec {sys.executable} - "$@" <<'.'
import socket, sys, time
port = next(int(argument.partition("=")[2]) for argument in sys.argv if argument.startswith("--secure-port="))
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
listening.bind(("127.0.0.1", port))
listening.listen()
time.sleep(3600)
."""
BROKEN = {ENDS: "this release is broken", HANGS: "was not ready within"}


@pytest.fixture(params=[ENDS, pytest.param(HANGS, marks=pytest.mark.slow)], ids=["ends", "hangs"])
def broken_patch(request: pytest.FixtureRequest, patched: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A later version whose API server does not work, and what is said of it."""
    version = DEFAULT_VERSION.rpartition(".")[0] + f".{len(request.param)}"
    folder = patched / "kube" / version
    if not folder.is_dir():
        folder.mkdir()
        for name in ComponentName:
            (folder / name).symlink_to(cache.version_folder(DEFAULT_VERSION) / name)
        program = folder / ComponentName.API_SERVER
        program.unlink()
        program.write_text(f"#!/bin/sh\n{request.param}\n")
        program.chmod(0o755)
    monkeypatch.setenv("KAPSTAN_CACHE", str(patched))
    return version, BROKEN[request.param]


@pytest.fixture
async def runtime(data: Path) -> AsyncIterator[ProcessRuntime]:
    async with manager(data) as runtime:
        yield runtime


@pytest.fixture
async def management(env: Environment, data: Path, guard: Callable[[str], None]) -> Management:
    """For control planes as processes."""
    await env.install(Cluster, HostedControlPlane)
    return Management(env, await env.namespace(), data, guard, "Process")


@pytest.fixture(params=["Process", "Simulated"])
def either(management: Management, request: pytest.FixtureRequest) -> Management:
    """For control planes of either runtime: what holds for both."""
    management.runtime = request.param
    return management
