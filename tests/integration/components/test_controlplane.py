"""The real control plane: started, asked, restarted, adopted, stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from kapstan.components import assets, pidfile
from kapstan.components.controlplane import ControlPlane, Options, Ports
from kapstan.components.ports import free_ports
from kapstan.components.process import ProcessFailed
from kapstan.components.releases import DEFAULT_VERSION
from kapstan.machinery.pki import discovery_hashes

pytestmark = pytest.mark.real


async def kubectl(plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None) -> tuple[int, str]:
    """The real kubectl against a plane; exit code and what it said."""
    program = (await assets.find_all(["kubectl"]))["kubectl"]
    process = await asyncio.create_subprocess_exec(
        program,
        "--kubeconfig",
        kubeconfig or plane.kubeconfig_file,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def get(plane: ControlPlane, path: str) -> dict[str, object]:
    code, said = await kubectl(plane, "get", "--raw", path)
    assert code == 0, said
    answer = json.loads(said)
    assert isinstance(answer, dict)
    return answer


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def until(condition: str, plane: ControlPlane, *arguments: str) -> None:
    """Wait until kubectl says something."""
    async with asyncio.timeout(60):
        while condition not in (await kubectl(plane, *arguments))[1]:  # noqa: ASYNC110 - kubectl cannot wait for all of it
            await asyncio.sleep(0.1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """For tests that only use it. It is started in one event loop and used in others."""
    async with ControlPlane(tmp_path_factory.mktemp("shared")) as plane:
        yield plane


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    async with ControlPlane(tmp_path) as plane:
        yield plane


async def test_it_answers_its_administrator(shared: ControlPlane) -> None:
    version = await get(shared, "/version")

    assert version["gitVersion"] == DEFAULT_VERSION
    assert (version["major"], version["minor"]) == tuple(DEFAULT_VERSION.removeprefix("v").split(".")[:2])
    code, said = await kubectl(shared, "auth", "can-i", "*", "*")
    assert (code, said.strip()) == (0, "yes")


async def test_everybody_else_is_who_the_kubeconfig_says(shared: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "alice.conf"
    file.write_text(yaml.safe_dump(shared.kubeconfig("alice", ["dev"])))

    code, said = await kubectl(shared, "auth", "whoami", "-o", "json", kubeconfig=file)
    user = json.loads(said)["status"]["userInfo"]
    assert (user["username"], set(user["groups"])) == ("alice", {"dev", "system:authenticated"})

    code, said = await kubectl(shared, "get", "secrets", kubeconfig=file)
    assert code == 1
    assert 'User "alice" cannot list resource "secrets"' in said


async def test_a_pod_can_be_created_without_controller_manager(shared: ControlPlane) -> None:
    code, said = await kubectl(shared, "run", "web", "--image=web")

    assert (code, said) == (0, "pod/web created\n")


async def test_secrets_of_the_plane_are_private(shared: ControlPlane) -> None:
    for file in shared.folder.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file


async def test_a_stranger_cannot_read_etcd(shared: ControlPlane) -> None:
    """Without a client certificate of etcd's own authority there is no way in, not even for the cluster's admin."""
    program = (await assets.find_all(["etcdctl"]))["etcdctl"]
    pki = shared.folder / "pki"

    async def read(client: str) -> tuple[int, bytes]:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--endpoints=https://127.0.0.1:{shared.ports.etcd_client}",
            f"--cacert={pki / 'etcd/ca.crt'}",
            f"--cert={pki / client}.crt",
            f"--key={pki / client}.key",
            "--command-timeout=2s",
            "get",
            "/registry/namespaces/default",
            "--keys-only",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        said, _ = await process.communicate()
        return process.returncode or 0, said.strip()

    assert await read("apiserver-etcd-client") == (0, b"/registry/namespaces/default")
    code, said = await read("admin")
    assert (code == 0, said) == (False, b"")


async def test_the_api_server_comes_back_in_its_place(plane: ControlPlane) -> None:
    await kubectl(plane, "create", "configmap", "kept")
    url, pid = plane.url, plane.apiserver.pid

    await plane.restart_apiserver()

    assert plane.url == url
    assert plane.apiserver.pid != pid
    assert (await get(plane, "/api/v1/namespaces/default/configmaps/kept"))["kind"] == "ConfigMap"


async def test_it_can_be_away_for_a_while(plane: ControlPlane) -> None:
    await plane.apiserver.stop()
    assert not listens(plane.ports.apiserver)

    await plane.apiserver.start()
    await plane.wait_ready()

    assert (await get(plane, "/version"))["gitVersion"] == DEFAULT_VERSION


async def test_nothing_is_left_after_stop(tmp_path: Path) -> None:
    async with ControlPlane(tmp_path) as plane:
        ports = (plane.ports.etcd_client, plane.ports.etcd_peer, plane.ports.apiserver)
        pids = [process.pid for process in plane.processes.values()]
        assert all(listens(port) for port in ports)

    assert not any(listens(port) for port in ports)
    assert [pid for pid in pids if pid and pidfile.identify(pid, "")] == []
    assert list((tmp_path / "run").iterdir()) == []


async def test_a_plane_that_outlives_its_manager_is_adopted_by_the_next(tmp_path: Path) -> None:
    options = Options(outlive=True)
    first = ControlPlane(tmp_path, options)
    await first.start()
    await first.wait_ready()
    await kubectl(first, "create", "configmap", "kept")
    pids = {name: process.pid for name, process in first.processes.items()}
    first.detach()

    async with ControlPlane(tmp_path, options) as second:
        assert {name: process.pid for name, process in second.processes.items()} == pids
        assert second.url == first.url
        assert (await get(second, "/api/v1/namespaces/default/configmaps/kept"))["kind"] == "ConfigMap"

    assert not listens(first.ports.apiserver)


async def test_stop_ends_what_an_earlier_manager_left(tmp_path: Path) -> None:
    first = ControlPlane(tmp_path, Options(outlive=True))
    await first.start()
    first.detach()

    await ControlPlane(tmp_path).stop()

    assert not listens(first.ports.apiserver)
    assert not listens(first.ports.etcd_client)


async def test_changed_arguments_replace_the_component_and_nothing_else(tmp_path: Path) -> None:
    options = Options(outlive=True)
    first = ControlPlane(tmp_path, options)
    await first.start()
    pids = {name: process.pid for name, process in first.processes.items()}
    first.detach()

    changed = replace(options, apiserver_arguments=[("audit-log-maxage", "1")])
    async with ControlPlane(tmp_path, changed) as second:
        assert second.processes["etcd"].pid == pids["etcd"]
        assert second.apiserver.pid != pids["kube-apiserver"]


async def test_supervised_components_come_back(tmp_path: Path) -> None:
    async with ControlPlane(tmp_path) as plane, asyncio.TaskGroup() as group:
        group.create_task(plane.supervise())
        pid = plane.apiserver.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            while plane.apiserver.pid in (None, pid):  # noqa: ASYNC110 - it is another task that starts it
                await asyncio.sleep(0.01)
        await plane.wait_ready()
        assert plane.apiserver.restarts == 1
        await plane.stop()


async def test_the_whole_control_plane_runs_a_deployment_as_far_as_without_nodes(tmp_path: Path) -> None:
    """Controllers make the pod, the scheduler says that no node is there; a token signs the discovery document."""
    async with ControlPlane(tmp_path, Options(controller_manager=True, scheduler=True, durable=True)) as plane:
        await until("default", plane, "get", "serviceaccounts")
        code, said = await kubectl(plane, "create", "deployment", "web", "--image=web")
        assert code == 0, said
        await until("no nodes available", plane, "get", "events", "-o", "jsonpath={.items[*].message}")
        ca = await kubectl(plane, "get", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}")
        assert discovery_hashes(ca[1].encode()) == [plane.certificates.authorities.cluster.discovery_hash]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("component", ["etcd_client", "apiserver", "controller_manager"])
async def test_ports_that_somebody_else_took_are_exchanged(tmp_path: Path, component: str, taken: int) -> None:
    """The ports of the last time are in the folder; meanwhile another program listens on one of them."""
    ports = replace(Ports(*free_ports(5)), **{component: taken})
    (tmp_path / "ports.json").write_text(json.dumps(asdict(ports)))

    async with ControlPlane(tmp_path, Options(controller_manager=component == "controller_manager")) as plane:
        assert getattr(plane.ports, component) != taken
        assert (await get(plane, "/version"))["gitVersion"] == DEFAULT_VERSION


async def test_ports_that_were_asked_for_are_not_exchanged(tmp_path: Path, taken: int) -> None:
    ports = replace(Ports(*free_ports(5)), apiserver=taken)

    with pytest.raises(ProcessFailed, match="address already in use"):
        await ControlPlane(tmp_path, Options(ports=ports)).__aenter__()

    assert not listens(ports.etcd_client)


async def test_a_flag_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match=r"(?s)kube-apiserver ended .*unknown flag: --no-such-flag"):
        await ControlPlane(tmp_path, Options(apiserver_arguments=[("no-such-flag", "1")])).__aenter__()
