"""`kapstan up`, killed at any point of what it does: the next one goes on, and nobody is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.driver import NEW

from kapstan.client import Client, Config, Patch
from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import documents_of
from kapstan.components.guard import Guard
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.conditions import is_true
from kapstan.machinery.meta import ObjectMeta

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

# It is killed when one of these is there: it has its ports; each component was started.
CREATING = ("instance.json", "run/etcd.pid", "run/kube-apiserver.pid", "run/kube-scheduler.pid")


class Up:
    """A management plane in a process of its own, that can be killed."""

    def __init__(self, folder: Path, guards: list[Guard]) -> None:
        self.folder = folder
        self._guards = guards

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Client]:
        """Until it is killed when the block ends, in the middle of whatever it does."""
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.unlink(missing_ok=True)  # one that is killed leaves it
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "kapstan", "up", "--data-dir", str(self.folder)),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(120):
                while b"Ctrl-C stops it." not in (line := await process.stdout.readline()):
                    assert line, "it ended"
            async with Client(Config.from_kubeconfig(kubeconfig.read_bytes())) as client:
                yield client
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()

    async def create(self, client: Client) -> None:
        values = {"CLUSTER_NAME": "c1", "NAMESPACE": "default", "WORKER_MACHINE_COUNT": "0"}
        for document in documents_of(flavor("hosted"), values):
            await client.create(document)
        plane = await client.get(HostedControlPlane, "c1", "default")
        self._guards.append(Guard(self.folder / "hosted" / plane.uid))

    async def has(self, name: str) -> bool:
        """Whether the control plane has a file."""
        return any((self.folder / "hosted").glob(f"*/{name}"))


@pytest.fixture
async def up(tmp_path: Path, guards: list[Guard]) -> AsyncIterator[Up]:
    folder = tmp_path / "up"
    yield Up(folder, guards)
    async with ProcessRuntime(folder / "hosted") as runtime:
        await runtime.stop(grace=0)


async def test_one_that_is_killed_again_and_again_gets_there(up: Up, next_patch: str) -> None:
    for name in CREATING:
        async with up.running() as client:
            if name == CREATING[0]:
                await up.create(client)
            await until(lambda name=name: up.has(name))  # type: ignore[misc]
    async with up.running() as client:
        await available(client, NEW)
        async with await tenant(client) as inside:
            await inside.create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))

        await client.patch_named(HostedControlPlane, "c1", "default", Patch.merge({"spec": {"version": next_patch}}))
        await until(lambda: up.has("run/kube-apiserver-next.pid"))
    async with up.running() as client:
        await available(client, next_patch)
        async with await tenant(client) as inside:
            await inside.get(ConfigMap, "kept", "default")

        await client.delete(Cluster, "c1", "default")
    async with up.running() as client:
        await until(lambda: gone(client))
        assert list((up.folder / "hosted").iterdir()) == []
        # What the template brings for workers is the user's.
        assert [secret.name for secret in await client.list(Secret, "default")] == ["c1-bootstrap"]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Of processes and files that tell nobody."""
    async with asyncio.timeout(180):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def available(client: Client, version: str) -> None:
    """Wait until it is, with this version."""
    plane = await client.get(HostedControlPlane, "c1", "default")

    async def there() -> bool:
        nonlocal plane
        plane = await client.get(HostedControlPlane, "c1", "default")
        found = [count.version for count in plane.status.versions]
        return found == [version] and is_true(plane.status.conditions, "Available")

    try:
        await until(there)
    except TimeoutError:
        raise AssertionError(f"it was last seen as\n{to_yaml(plane)}") from None


async def gone(client: Client) -> bool:
    return not await client.list(Cluster, "default") and not await client.list(HostedControlPlane, "default")


async def tenant(client: Client) -> Client:
    secret = await client.get(Secret, "c1-kubeconfig", "default")
    return Client(Config.from_kubeconfig(secret.data["value"]))
