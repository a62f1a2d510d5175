"""Control planes as processes: made, used, broken, left alone, put to sleep, changed, deleted. No controller."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.cluster.hosted.driver import NEW, Asking, Tenant, is_ready, manager

from kapstan.client import Client
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Condition
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.components import pidfile
from kapstan.components.process import Command, Process
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.errors import KapstanError, NotFound
from kapstan.machinery.meta import ObjectMeta

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER = ComponentName
Make = Callable[..., Tenant]


@pytest.fixture
def make(guard: Callable[[str], None]) -> Make:
    def make(runtime: ProcessRuntime, name: str = "c1", **spec: Any) -> Tenant:
        guard(name)
        return Tenant(runtime, name, **spec)

    return make


def pids(folder: Path) -> dict[str, int]:
    """The processes of a folder that are alive, by the name of their pid file."""
    found = {file.stem: pidfile.read(file) for file in (folder / "run").glob("*.pid")}
    return {name: identity.pid for name, identity in found.items() if identity and pidfile.is_alive(identity)}


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def write(client: Client, name: str) -> None:
    await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"a": "b"}))


async def read(client: Client, name: str) -> dict[str, str]:
    return (await client.get(ConfigMap, name, "default")).data


async def until(condition: Callable[[], object], timeout: float = 60.0) -> None:
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110 - the condition is about processes that tell nobody
            await asyncio.sleep(0.02)


async def test_it_is_made_used_and_deleted(runtime: ProcessRuntime, make: Make, data: Path) -> None:
    tenant = make(runtime)
    await tenant.apply()
    await tenant.until(lambda seen: seen.answering)
    async with tenant.client() as client:
        assert b"v1.36.3" in await client.request("GET", "/version")
        await tenant.bootstrap()  # before it is ready: an administrator need not wait for roles
        await tenant.ready()

        await write(client, "kept")
        await client.create(
            Secret(
                metadata=ObjectMeta(name="bootstrap-token-abcdef", namespace="kube-system"),
                type="bootstrap.kubernetes.io/token",
                string_data={
                    "token-id": "abcdef",
                    "token-secret": "0123456789abcdef",
                    "usage-bootstrap-signing": "true",
                    "usage-bootstrap-authentication": "true",
                },
            )
        )
        async with client.watch(ConfigMap, "kube-public", fields="metadata.name=cluster-info") as events:
            async for event in events:
                if "jws-kubeconfig-abcdef" in event.object.data:
                    break
    async with Client(tenant.administrator().anonymous()) as anybody:
        info = await anybody.get(ConfigMap, "cluster-info", "kube-public")
        assert tenant.endpoint is not None and tenant.endpoint.url in info.data["kubeconfig"]

    folder = tenant.folder(data)
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.rglob("*"))
    running = pids(folder)
    assert set(running) == set(ComponentName)

    (folder / "pki" / "sa.key").unlink()
    await tenant.apply()
    assert (folder / "pki" / "sa.key").read_bytes() == tenant.authorities.service_account.key_pem
    assert pids(folder) == running

    await tenant.delete()

    assert not folder.exists()
    assert [pid for pid in running.values() if pidfile.identify(pid, "")] == []
    assert not listens(tenant.endpoint.port)
    assert list(data.iterdir()) == []
    await tenant.delete()  # once more, as a manager does that died before it could say so


async def test_whatever_is_killed_comes_back_and_the_data_are_there(
    runtime: ProcessRuntime, make: Make, data: Path
) -> None:
    tenant = make(runtime)
    await tenant.apply()
    await tenant.ready()
    async with tenant.client() as client:
        await write(client, "kept")

    folder = tenant.folder(data)
    for name in ComponentName:
        # A controller manager that has only just started gives up when it loses the API server.
        await until(lambda name=name: name in pids(folder))  # type: ignore[misc]
        before, restarts = pids(folder), tenant.seen.component(name).restarts
        os.kill(before[name], signal.SIGKILL)
        again = await tenant.until(lambda seen, name=name, count=restarts: seen.component(name).restarts > count)  # type: ignore[misc]
        assert again.component(name).version == NEW
        await tenant.ready()
        await until(lambda name=name: name in pids(folder))  # type: ignore[misc]
        after = pids(folder)
        assert after[name] != before[name]
        others = {API_SERVER, ETCD} - {name}
        assert {other: after[other] for other in others} == {other: before[other] for other in others}
        async with tenant.client() as client:
            assert await read(client, "kept") == {"a": "b"}


async def test_it_goes_on_without_its_manager_and_is_adopted_by_the_next(make: Make, data: Path) -> None:
    async with manager(data) as first:
        tenant = make(first)
        await tenant.apply()
        await tenant.ready()
    before = pids(tenant.folder(data))
    assert set(before) == set(ComponentName)
    async with tenant.client() as client:
        await write(client, "meanwhile")
    os.kill(before[SCHEDULER], signal.SIGKILL)

    async with manager(data) as second:
        adopted = tenant.of(second)
        await adopted.apply()
        assert adopted.seen.component(API_SERVER).condition in (Condition.READY, Condition.STOPPED)
        await adopted.ready()
        after = pids(tenant.folder(data))
        assert {name for name in before if after[name] != before[name]} == {SCHEDULER}
        async with adopted.client() as client:
            assert await read(client, "meanwhile") == {"a": "b"}
        await adopted.delete()
        assert pids(tenant.folder(data)) == {}


@pytest.mark.parametrize("moment", ["starting", "answering"])
async def test_a_manager_that_dies_while_it_is_made_is_replaced_by_one_that_goes_on(
    make: Make, data: Path, moment: str
) -> None:
    async with manager(data) as first:
        tenant = make(first)
        await tenant.apply()
        if moment == "answering":
            await tenant.until(lambda seen: seen.answering)
        else:
            await until(lambda: API_SERVER in pids(tenant.folder(data)))
    before = pids(tenant.folder(data))

    async with manager(data) as second:
        adopted = tenant.of(second)
        await adopted.apply()
        await adopted.ready()
        after = pids(tenant.folder(data))

    assert before.items() <= after.items()


async def test_a_process_that_nobody_wrote_down_is_ended(data: Path) -> None:
    """Its manager was killed in the moment between its start and its pid file."""
    process = Process("etcd", Command((sys.executable, "-S", "-c", "import signal; signal.pause()")), data / "c1")
    await process.start()
    (data / "c1" / "run" / "etcd.pid").unlink()

    async with manager(data):
        assert not process.running
    process.detach()


async def test_it_sleeps_and_wakes_with_its_data_and_its_address(
    runtime: ProcessRuntime, make: Make, data: Path
) -> None:
    tenant = make(runtime)
    await tenant.apply()
    await tenant.ready()
    endpoint = tenant.endpoint
    assert endpoint is not None
    async with tenant.client() as client:
        await write(client, "kept")

    await tenant.apply(replicas=0)
    asleep = await tenant.until(
        lambda seen: all(seen.component(name).condition is Condition.STOPPED for name in ComponentName)
    )
    assert not asleep.answering
    assert pids(tenant.folder(data)) == {}
    assert not listens(endpoint.port)

    await tenant.apply(replicas=1)
    await tenant.ready()
    assert tenant.endpoint == endpoint
    async with tenant.client() as client:
        assert await read(client, "kept") == {"a": "b"}


@pytest.mark.parametrize("strategy", ["BlueGreen", "Recreate"])
async def test_a_changed_component_takes_the_place_of_the_old_one(
    runtime: ProcessRuntime, make: Make, data: Path, strategy: str
) -> None:
    tenant = make(runtime, rollout={"strategy": {"type": strategy}})
    await tenant.apply()
    await tenant.ready()
    before = pids(tenant.folder(data))

    async with Asking(tenant.administrator()) as asking:
        await tenant.apply(apiServer={"extraArgs": [{"name": "audit-log-maxage", "value": "7"}]})
        await tenant.until(lambda seen: seen.rolling_out)
        if strategy == "Recreate":
            await tenant.until(lambda seen: not seen.answering)  # nobody serves between the two
        await tenant.until(lambda seen: is_ready(seen) and not seen.rolling_out)
        await until(lambda: not any(pid == before[API_SERVER] for pid in pids(tenant.folder(data)).values()))

    after = pids(tenant.folder(data))
    same = (ETCD, SCHEDULER)  # a controller manager gives up if it was just starting
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert len(after) == len(before)
    assert asking.answers
    assert strategy == "Recreate" or not asking.refused, asking.failures


@pytest.mark.parametrize("strategy", ["BlueGreen", "Recreate"])
async def test_a_change_that_does_not_work_is_taken_back(make: Make, data: Path, strategy: str) -> None:
    """Nor is it tried again, whoever manages the control plane, until something else is asked for."""
    async with manager(data) as first:
        tenant = make(first, rollout={"strategy": {"type": strategy}})
        await tenant.apply()
        await tenant.ready()
        before = pids(tenant.folder(data))
        async with Asking(tenant.administrator()) as asking:
            await tenant.apply(apiServer={"extraArgs": [{"name": "no-such-flag", "value": "1"}]})
            if strategy == "Recreate":
                await tenant.until(lambda seen: not seen.answering)
            refused = (await tenant.until(lambda seen: seen.refused and is_ready(seen))).refused
        assert refused is not None
        assert "it does not know the flag --no-such-flag" in refused.message
        assert asking.answers
        assert strategy == "Recreate" or not asking.refused, asking.failures
        if strategy == "BlueGreen":
            assert pids(tenant.folder(data)) == before
        running = pids(tenant.folder(data))

    async with manager(data) as second:
        tenant = tenant.of(second)
        await tenant.apply()
        assert (await tenant.until(lambda seen: is_ready(seen) and seen.refused)).refused == refused
        assert pids(tenant.folder(data)) == running

        await tenant.apply(apiServer={})
        await tenant.until(lambda seen: is_ready(seen) and seen.refused is None)


@pytest.mark.parametrize("strategy", ["BlueGreen", "Recreate"])
@pytest.mark.slow
async def test_it_is_upgraded_api_server_first(
    runtime: ProcessRuntime, make: Make, data: Path, previous_minor: str, strategy: str
) -> None:
    tenant = make(runtime, version=previous_minor, rollout={"strategy": {"type": strategy}})
    await tenant.apply()
    await tenant.ready()
    async with tenant.client() as client:
        await write(client, "kept")
    etcd = pids(tenant.folder(data))["etcd"]
    seen_versions = []

    def upgraded(seen: Any) -> bool:
        seen_versions.append(tuple(seen.component(name).version for name in (API_SERVER, CONTROLLER_MANAGER)))
        return is_ready(seen) and not seen.rolling_out and seen.component(SCHEDULER).version == NEW

    async with Asking(tenant.administrator()) as asking:
        await tenant.apply(version=NEW)
        await tenant.until(upgraded)

    assert (previous_minor, NEW) not in seen_versions  # nobody is ever newer than the API server
    assert asking.answers
    assert strategy == "Recreate" or not asking.refused, asking.failures
    assert pids(tenant.folder(data))["etcd"] == etcd
    async with tenant.client() as client:
        assert await read(client, "kept") == {"a": "b"}
        assert NEW.encode() in await client.request("GET", "/version")


async def test_control_planes_that_share_an_etcd_know_nothing_of_each_other(
    runtime: ProcessRuntime, make: Make, data: Path
) -> None:
    """One prefix is the beginning of the other: a deletion without the slash would damage the neighbour."""
    one, other = (make(runtime, name, datastore={"type": "SharedEtcd"}) for name in ("a", "ab"))
    for tenant in (one, other):
        await tenant.apply()
    for tenant in (one, other):
        await tenant.ready()
        assert set(pids(tenant.folder(data))) == set(ComponentName) - {ETCD}
    async with one.client() as client:
        await write(client, "mine")
    async with other.client() as client:
        with pytest.raises(NotFound):
            await read(client, "mine")
        await write(client, "other")

    await one.delete()

    assert sorted(path.name for path in data.iterdir()) == ["ab", "shared.etcd"]
    async with other.client() as client:
        assert await read(client, "other") == {"a": "b"}
    again = make(runtime, "a", datastore={"type": "SharedEtcd"})
    await again.apply()
    await again.until(lambda seen: seen.answering)
    async with again.client() as client:
        with pytest.raises(NotFound):
            await read(client, "mine")

    await again.delete()
    await other.delete()
    assert list(data.iterdir()) == []


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("component", ["apiserver", "etcd_client", "scheduler"])
async def test_a_port_that_nobody_knows_yet_is_exchanged(
    make: Make, data: Path, taken: socket.socket, component: str
) -> None:
    """It was chosen, and then taken by another program."""
    port = taken.getsockname()[1]
    async with manager(data) as first:
        tenant = make(first)
        await first.ensure_datastore(tenant.instance, "DedicatedEtcd")
    file = tenant.folder(data) / "instance.json"
    record = msgspec.json.decode(file.read_bytes())
    record["ports"][component] = port
    file.write_bytes(msgspec.json.encode(record))

    async with manager(data) as second:
        tenant = tenant.of(second)
        assert getattr(second.layout(tenant.instance).ports, component) == port
        await tenant.apply()
        await tenant.ready()

        assert getattr(second.layout(tenant.instance).ports, component) != port
        async with tenant.client() as client:
            await write(client, "works")


async def test_data_of_another_control_plane_are_not_touched(runtime: ProcessRuntime, make: Make, data: Path) -> None:
    tenant = make(runtime)
    await tenant.apply()
    thief = Tenant(runtime, "thief", id="c1")

    with pytest.raises(KapstanError, match="the data 'c1' on this machine belong to HostedControlPlane default/c1"):
        await thief.apply()
    await thief.delete()

    assert tenant.folder(data).is_dir()
    await tenant.delete()
