"""A real API server for simulations alone: they look after a whole cluster, and others leave things in theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kapstan.components.controlplane import ControlPlane
from kapstan.testing.servers import RealAPIServer


@pytest.fixture(scope="session")
def real_api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAPIServer]:
    plane = ControlPlane(tmp_path_factory.mktemp("real"))
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, started(plane)).result()
            yield RealAPIServer(plane)
        finally:
            thread.submit(asyncio.run, plane.stop()).result()


async def started(plane: ControlPlane) -> None:
    await plane.start()
    await plane.wait_ready()
