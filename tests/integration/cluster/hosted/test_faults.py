"""What may go wrong with the machine under control planes: a person is told, and it ends when its cause does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.conftest import manager
from tests.integration.cluster.hosted.driver import Tenant

from kapstan.cluster.controlplane.hosted.runtime.interface import Observation

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


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
