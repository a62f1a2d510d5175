"""A management cluster in which one provider can be run, for the tests of every rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.goodbyes import goodbyes as goodbyes

from kapstan.cluster.api.core import Cluster, Machine, MachineSet
from kapstan.testing import Environment

from .core import Core
from .providers import Provider


@pytest.fixture
async def core(env: Environment, provider: Provider, tmp_path: Path) -> Core:
    kinds = [kind for sample in provider.samples for kind in sample.kinds]
    await env.install(Cluster, Machine, MachineSet, *kinds)
    return Core(env, await env.namespace(), provider, tmp_path)
