"""Kubernetes' own conformance tests, as far as they can run without real nodes, against the embedded server.

The program that has them is built from Kubernetes' source, which takes minutes, once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.apiserver.clients.cluster import control_plane
from tests.integration.apiserver.clients.programs import served
from tests.integration.apiserver.conformance.lists import (
    excuses,
    with_real_controllers,
    with_simulated_nodes,
    without_nodes,
)
from tests.integration.apiserver.conformance.suite import JSON, PROTOBUF, Result, conformance_tests, run

from kapstan.apiserver.advertise import advertised
from kapstan.apiserver.controllers.manager import KUBE_CONTROLLER_MANAGER
from kapstan.apiserver.server import EmbeddedServer
from kapstan.client import Config
from kapstan.machinery.codec import to_yaml
from kapstan.simulation import NodeSpec, Simulation, Timing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

NODES = 2  # some tests ask for that many


async def test_every_conformance_test_is_run_or_excused_once(tmp_path: Path) -> None:
    reasons = excuses()
    listed = [*without_nodes(), *with_simulated_nodes(), *with_real_controllers()]
    wrong = []
    for name in await conformance_tests(tmp_path):
        excused = [beginning for beginning in reasons if name.startswith(beginning)]
        if name in listed:
            excused = []  # the rest of its group is excused
        if listed.count(name) + len(excused) != 1:
            wrong.append((name, listed.count(name), excused))
    assert not wrong


async def test_no_excuse_is_left_over(tmp_path: Path) -> None:
    listed = {*without_nodes(), *with_simulated_nodes(), *with_real_controllers()}
    others = [name for name in await conformance_tests(tmp_path) if name not in listed]
    assert [excuse for excuse in excuses() if not any(name.startswith(excuse) for name in others)] == []


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
async def test_they_pass_on_the_server_alone(tmp_path: Path, content_type: str) -> None:
    async with EmbeddedServer(advertise=advertised("127.0.0.1")) as server:
        found = await run(without_nodes(), kubeconfig(server, tmp_path), content_type=content_type, nodes=0)
    assert failures(without_nodes(), found) == {}


async def test_they_pass_with_simulated_nodes(tmp_path: Path) -> None:
    async with EmbeddedServer(advertise=advertised("127.0.0.1")) as server, simulated(server, complete=120):
        path = kubeconfig(server, tmp_path)
        found = await run(with_simulated_nodes(), path, content_type=PROTOBUF, nodes=NODES)
    assert failures(with_simulated_nodes(), found) == {}


async def test_they_pass_with_real_controllers(tmp_path: Path) -> None:
    """kube-controller-manager and kube-scheduler beside our server; only the nodes are simulated."""
    with served(advertise=advertised("127.0.0.1"), without_controllers=KUBE_CONTROLLER_MANAGER) as server:
        with control_plane(server, tmp_path):
            async with simulated(server, workloads=False, complete=15):
                path = kubeconfig(server, tmp_path)
                found = await run(with_real_controllers(), path, content_type=PROTOBUF, nodes=NODES)
    assert failures(with_real_controllers(), found) == {}


@asynccontextmanager
async def simulated(server: EmbeddedServer, *, workloads: bool = True, complete: float) -> AsyncIterator[None]:
    """Nodes on which pods are said to run; those that end by themselves do so after some seconds.

    Tests of jobs wait for that; others have to see their pods run before.
    """
    config = Config.from_kubeconfig(server.kubeconfig())
    async with Simulation(config, workloads=workloads, timing=Timing(complete=complete)).running() as simulation:
        for number in range(NODES):
            await simulation.kubelets.register(NodeSpec(name=f"node-{number}"))
        yield


def kubeconfig(server: EmbeddedServer, folder: Path) -> Path:
    path = folder / "admin.conf"
    path.touch(mode=0o600)
    path.write_text(to_yaml(server.kubeconfig()))
    return path


def failures(names: Collection[str], found: Mapping[str, Result]) -> dict[str, Result]:
    """What did not pass: also tests that were not run, and steps around tests."""
    every = {**{name: Result("vanished") for name in names}, **found}
    return {name: result for name, result in every.items() if result.state != "passed"}
