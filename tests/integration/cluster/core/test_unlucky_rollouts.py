"""Rollouts with bad luck: answers of the API server get lost, and the manager dies and is started again.

A write whose answer is lost may have been carried out, or not. Whatever happens, machines stay within their bounds,
none is made twice, and nothing is left over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, MachineDeployment
from kapstan.cluster.core.controllers import SCOPES, add_controllers
from kapstan.machinery.errors import ConnectionFailed
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.testing import Environment

from .conftest import CORE, PROVIDERS, GenericConfig, GenericMachine, World, condition
from .plant import TEMPLATES, Bootstrapper, Computers, Plant, prepare
from .test_machinedeployment import bounded, settled

pytestmark = pytest.mark.timeout(240)


class Luck:
    """Loses some of the answers to writes, of requests that were carried out and of others that were not."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.chance = 0.2
        self.lost = 0
        self._struck = asyncio.Event()

    async def strikes(self, times: int) -> None:
        """Wait until so many more answers are lost."""
        target = self.lost + times
        while self.lost < target:
            self._struck.clear()
            await self._struck.wait()

    def spoil(self, manager: Manager) -> None:
        transport: Any = manager.live.transport
        send = transport.send

        async def unlucky(request: Any) -> Any:
            if request.method == "GET" or self.random.random() >= self.chance:
                return await send(request)
            self.lost += 1
            self._struck.set()
            if self.random.random() < 0.7:
                await send(request)
            raise ConnectionFailed(f"{request.what}: the answer was lost on purpose")

        transport.send = unlucky


@asynccontextmanager
async def core(world: World, luck: Luck) -> AsyncIterator[None]:
    """Core's controllers, in a process of their own that has no luck."""
    manager = Manager(world.env.config, ManagerOptions(scopes=SCOPES, namespaces=(world.namespace,)))
    add_controllers(manager)
    luck.spoil(manager)
    running = asyncio.create_task(manager.start())
    await manager.wait_started()
    yield
    manager.stop()
    await running


@pytest.fixture
async def unlucky(env: Environment, workload: Environment) -> AsyncIterator[Plant]:
    """A cluster whose providers run, and nobody else."""
    await env.install(*CORE, *PROVIDERS, *TEMPLATES)
    world = World(env, await env.namespace())
    manager = Manager(env.config, ManagerOptions(scopes=SCOPES, namespaces=(world.namespace,)))
    manager.add_controller(Bootstrapper())
    manager.add_controller(Computers(workload.client))
    running = asyncio.create_task(manager.start())
    await manager.wait_started()
    await prepare(world, workload)
    yield Plant(world, workload)
    manager.stop()
    await running


async def change(plant: Plant, template: str) -> None:
    refs = {"bootstrap": {"configRef": {"name": template}}, "infrastructureRef": {"name": template}}
    await plant.client.patch_named(
        MachineDeployment, "d", plant.namespace, Patch.merge({"spec": {"template": {"spec": refs}}})
    )


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
async def test_rollouts_with_bad_luck(unlucky: Plant, seed: int) -> None:
    luck, plant = Luck(seed), unlucky
    for name in ("t", "u", "v"):
        await plant.template(name)
    async with core(plant.world, luck):
        await plant.deployment()
        await plant.deployment_when(settled(3))
    async with bounded(plant, least=3, most=4):
        for step in range(4):
            async with core(plant.world, luck):
                await change(plant, "uvt"[step % 3])
                await plant.deployment_when(lambda found: condition(found, "RollingOut").status == "True")
                await luck.strikes(luck.random.randint(1, 5))  # then it dies
        luck.chance = 0
        async with core(plant.world, luck):
            deployment = await plant.deployment_when(settled(3))
    assert luck.lost > 10
    assert {machine.name for machine in await plant.machines()} == {
        part.metadata.name for part in await plant.client.list(GenericMachine, plant.namespace)
    }
    assert len(await plant.client.list(GenericConfig, plant.namespace)) == 3

    luck.chance = 0.2
    async with core(plant.world, luck):
        await plant.client.delete(deployment)
        await plant.world.env.gone(MachineDeployment, "d", plant.namespace)
        await plant.client.delete(Cluster, "c", plant.namespace)
        await plant.world.env.gone(Cluster, "c", plant.namespace)
    assert await plant.machines() == []
    assert await plant.client.list(GenericMachine, plant.namespace) == []
