"""For tests with other people's clients: one embedded server for all of them, and one as bare as the real one is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.apiserver.clients.cluster import real_components
from tests.integration.apiserver.clients.comparison import Both
from tests.integration.apiserver.clients.programs import Program, kubeconfig_of, program, served, write_private

from kapstan.apiserver.controllers.manager import CONTROLLERS
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.codec import to_yaml
from kapstan.testing.servers import RealAPIServer


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The embedded server, with its controllers."""
    with served() as server:
        yield server


@pytest.fixture(scope="session")
def kubeconfig(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The administrator's, in a folder that programs may call their home."""
    return kubeconfig_of(server, tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Program:
    """kubectl on the embedded server."""
    return Program([program("kubectl")], kubeconfig)


@pytest.fixture(scope="session")
def bare_kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """kubectl on an embedded server without controllers, as the real one has none in tests."""
    with served(without_controllers=CONTROLLERS) as server:
        yield Program([program("kubectl")], kubeconfig_of(server, tmp_path_factory.mktemp("bare")))


@pytest.fixture(scope="session")
def real_kubectl(real_api_server: RealAPIServer, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """kubectl on the real server."""
    folder = tmp_path_factory.mktemp("real")
    return Program([program("kubectl")], write_private(folder / "admin.conf", to_yaml(real_api_server.kubeconfig())))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """kubectl on a cluster whose other components are real."""
    with real_components(tmp_path_factory.mktemp("cluster")) as kubectl:
        yield kubectl


@pytest.fixture
def both(bare_kubectl: Program, real_kubectl: Program) -> Iterator[Both]:
    """kubectl on both servers, in a new namespace."""
    both = Both(bare_kubectl, real_kubectl, f"both-{uuid.uuid4().hex[:8]}")
    with both.namespaced():
        yield both


@pytest.fixture
def namespace(kubectl: Program) -> Iterator[str]:
    """A namespace that nobody else uses."""
    name = f"clients-{uuid.uuid4().hex[:8]}"
    kubectl.ok("create", "namespace", name)
    yield name
    kubectl.ok("delete", "namespace", name, "--wait=false")
