"""A management cluster in which one provider can be run, for the tests of every rule."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kapstan.cluster.api.core import Cluster, Machine, MachineSet
from kapstan.testing import Environment

from .core import Core
from .providers import Provider


@pytest.fixture(autouse=True)
async def goodbyes() -> AsyncIterator[None]:
    """A TLS connection ends when each side has heard the other's goodbye: let the loop hear the last ones."""
    yield
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    async with asyncio.timeout(60):
        while len(selector.get_map()) > 1:  # noqa: ASYNC110 - the loop's own socket stays
            await asyncio.sleep(0.01)


@pytest.fixture
async def core(env: Environment, provider: Provider, tmp_path: Path) -> Core:
    kinds = [kind for sample in provider.samples for kind in sample.kinds]
    await env.install(Cluster, Machine, MachineSet, *kinds)
    return Core(env, await env.namespace(), provider, tmp_path)
