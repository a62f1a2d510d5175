"""What may go wrong with the machine under control planes: a person is told, and it ends when its cause does."""

from __future__ import annotations

import itertools
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.conftest import manager
from tests.integration.cluster.hosted.driver import Tenant

from kapstan.cluster.controlplane.hosted.runtime.interface import Observation
from kapstan.components import pidfile

pytestmark = [pytest.mark.real, pytest.mark.timeout(2700)]


def mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", "-t", "tmpfs", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def small(data: Path) -> Iterator[Path]:
    """The folder for control planes on a disk that is soon full."""
    data.mkdir()
    if mount("-o", "size=8m", "tmpfs", str(data)).returncode:
        pytest.skip("only who may mount a file system can have a full one")
    yield data
    # The fixture of the folder stops what still runs; the file system goes when nobody uses it any more.
    subprocess.run(["umount", "--lazy", str(data)], check=False)


async def test_a_full_disk_is_told_and_got_over(small: Path, guard: Callable[[str], None]) -> None:
    def full(seen: Observation) -> bool:
        told = [seen.failure, *(state.message for state in seen.components.values())]
        return any("the disk is full; free some space" in message for message in told)

    guard("c1")
    async with manager(small) as runtime:
        tenant = Tenant(runtime)
        await tenant.apply()
        await tenant.until(full)

        assert mount("-o", "remount,size=600m", str(small)).returncode == 0
        await tenant.apply()
        await tenant.ready()
        await tenant.delete()
        assert not tenant.folder(small).exists()
        await runtime.stop(grace=0)


@pytest.mark.parametrize("seconds", [15.0, pytest.param(1800.0, marks=pytest.mark.slow)])
async def test_making_and_deleting_again_and_again_leaves_nothing(
    data: Path, guard: Callable[[str], None], seconds: float
) -> None:
    end = time.monotonic() + seconds
    async with manager(data) as runtime:
        for number in itertools.count():
            tenants = [Tenant(runtime, f"c{number}-{one}") for one in range(2)]
            for tenant in tenants:
                guard(tenant.name)
                await tenant.apply()
            early = tenants[number % 2]  # one is deleted before it answers
            await next(tenant for tenant in tenants if tenant is not early).until(lambda seen: seen.answering)
            used = processes(data), ports(tenants)
            for tenant in tenants:
                await tenant.delete()
            assert [pid for pid in used[0] if Path(f"/proc/{pid}").exists()] == []
            assert [port for port in used[1] if not is_free(port)] == []
            assert [path for path in data.iterdir() if path.is_dir()] == []
            if time.monotonic() > end:
                return


def processes(data: Path) -> list[int]:
    found = map(pidfile.read, data.glob("*/run/*.pid"))
    return [identity.pid for identity in found if identity is not None]


def ports(tenants: list[Tenant]) -> list[int]:
    layouts = [tenant.runtime.layout(tenant.instance) for tenant in tenants]
    return [port for layout in layouts if layout is not None for port in astuple(layout.ports)]


def is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
