"""The pytest plugin: fixtures for tests of operators.

- `embedded`: an Environment on the embedded API server, new for each test.
- `real`: an Environment on a real kube-apiserver that all tests of the process share; use namespaces of your own.
- `env`: one or both of them, one test each, as `kapstan_environments` in the pytest configuration says
  (`embedded`, the default, or `embedded real`) or `--kapstan-environments` on the command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from kapstan.components.controlplane import ControlPlane
    from kapstan.testing.environment import Environment
    from kapstan.testing.servers import RealAPIServer

_NAMES = ("embedded", "real")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "kapstan_environments", "API servers that the `env` fixture runs on: embedded, real", default="embedded"
    )
    parser.getgroup("kapstan").addoption(
        "--kapstan-environments",
        help="API servers that the `env` fixture runs on: embedded, real, or both with a comma",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "env" not in metafunc.fixturenames:
        return
    said = metafunc.config.getoption("--kapstan-environments") or metafunc.config.getini("kapstan_environments")
    names = str(said).replace(",", " ").split()
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise pytest.UsageError(f"kapstan_environments: {unknown[0]!r} is none of {', '.join(_NAMES)}")
    marks: dict[str, Any] = {"real": pytest.mark.real}
    metafunc.parametrize("env", [pytest.param(name, marks=marks.get(name, ())) for name in names], indirect=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: runs on the real Kubernetes programs (`kapstan kube fetch`)")


@pytest_asyncio.fixture
async def embedded() -> AsyncIterator[Environment]:
    """An environment on the embedded API server."""
    from kapstan.testing.environment import embedded

    async with embedded() as environment:
        yield environment


@pytest.fixture(scope="session")
def real_api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAPIServer]:
    """A real etcd and kube-apiserver for all tests of this process."""
    from kapstan.components.controlplane import ControlPlane
    from kapstan.testing.servers import RealAPIServer

    plane = ControlPlane(tmp_path_factory.mktemp("real"))
    # In a thread, for a test's own loop may be running when its first fixture asks for this one.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, _start(plane)).result()
            yield RealAPIServer(plane)
        finally:
            thread.submit(asyncio.run, plane.stop()).result()


async def _start(plane: ControlPlane) -> None:
    await plane.start()
    await plane.wait_ready()


@pytest_asyncio.fixture
async def real(real_api_server: RealAPIServer) -> AsyncIterator[Environment]:
    """An environment on the real API server."""
    from kapstan.testing.environment import opened

    async with opened(real_api_server) as environment:
        yield environment


@pytest_asyncio.fixture
async def env(request: pytest.FixtureRequest) -> AsyncIterator[Environment]:
    """An environment on whichever API server the test was asked to run on."""
    from kapstan.testing.environment import embedded, opened

    if request.param == "embedded":
        async with embedded() as environment:
            yield environment
    else:
        async with opened(request.getfixturevalue("real_api_server")) as environment:
            yield environment
