"""What may go wrong with the machine under control planes: a person is told, and it ends when its cause does."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.management import Management

from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.api.core.cluster import APIEndpoint
from kapstan.components import pidfile
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.conditions import find, is_true

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


async def test_a_full_disk_is_told_and_got_over(small: Path, management: Management) -> None:
    def full(plane: HostedControlPlane) -> bool:
        told = [found.message for found in plane.status.conditions if found.status == "False"]
        return any("the disk is full; free some space" in message for message in told)

    async with management.managed():
        await management.create()
        plane = await management.until(full)
        assert not is_true(plane.status.conditions, "Available")

        assert mount("-o", "remount,size=600m", str(small)).returncode == 0
        await management.available()
        await management.delete()
        assert management.left() == []


async def test_a_port_that_is_taken_is_told_and_waited_for(management: Management) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with management.managed():
            await management.create(exposure={"type": "HostPort", "port": port})
            plane = await management.until(lambda plane: "another program" in told(plane, "APIServerHealthy"))
            message = f"another program listens on 127.0.0.1:{port}, the port of this control plane: end it"
            assert told(plane, "APIServerHealthy") == message
            assert message in told(plane, "Available")

            taken.close()
            plane = await management.available()
            assert plane.spec.control_plane_endpoint == APIEndpoint(host="127.0.0.1", port=port)


def told(plane: HostedControlPlane, type: str) -> str:
    found = find(plane.status.conditions, type)
    return found.message if found else ""


@pytest.mark.parametrize("seconds", [10.0, pytest.param(1800.0, marks=pytest.mark.slow)])
async def test_making_and_deleting_again_and_again_leaves_nothing(management: Management, seconds: float) -> None:
    """Half of them are deleted before they answer, half have an etcd that they share."""
    end = time.monotonic() + seconds
    open_files: list[int] = []
    async with management.managed():
        for number in itertools.count():
            names = [f"c{number}-{one}" for one in range(2)]
            datastore = {"type": ("DedicatedEtcd", "SharedEtcd")[number % 2]}
            for name in names:
                await management.create(name, datastore=datastore)
            await management.until(lambda plane: plane.spec.control_plane_endpoint, names[number // 2 % 2])
            running = processes(management.data)
            listening = ports(running)
            assert running
            assert listening
            for name in names:
                await management.delete(name)
            assert [pid for pid in running if Path(f"/proc/{pid}").exists()] == []
            assert [port for port in listening if not is_free(port)] == []
            assert list(management.data.iterdir()) == []
            assert await management.client.list(Secret, management.namespace) == []
            guards = len(names) * (number + 1)  # the test's own, one for each
            open_files.append(len(os.listdir("/proc/self/fd")) - guards)
            if time.monotonic() > end:
                break
    assert open_files[-1] <= open_files[0] + _SLACK


# Connections that are kept open, more or less of them.
_SLACK = 20


def processes(data: Path) -> list[int]:
    found = map(pidfile.read, data.glob("*/run/*.pid"))
    return [identity.pid for identity in found if identity is not None]


def ports(pids: list[int]) -> list[int]:
    """Where processes listen. What is only kept for them may meanwhile be used by others on the machine."""
    own = {inode for pid in pids for inode in sockets(pid)}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].partition(":")[2], 16) for row in rows if row[3] == LISTENING and row[9] in own]


LISTENING = "0A"


def sockets(pid: int) -> list[str]:
    """The inodes of a process' sockets."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except FileNotFoundError:
            continue  # closed in the meantime
        if target.startswith("socket:["):
            found.append(target[8:-1])
    return found


def is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
