"""The samples as processes: killed in the middle of their work, and beside a real kube-controller-manager."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kapstan.components.controlplane import Options
from kapstan.k8s.apps_v1 import Deployment, ReplicaSet
from kapstan.testing import Environment, real

OBJECTS = 20


def spec(sample: Any, size: int) -> dict[str, Any]:
    return {"size": size} if sample.name == "memcached" else {"replicas": size}


async def deployments(env: Environment, namespace: str, wanted: int) -> list[Deployment]:
    """The Deployments of a namespace, once there are so many."""
    found: dict[str, Deployment] = {}
    async with asyncio.timeout(90), env.client.watch(Deployment, namespace) as events:
        async for event in events:
            found[event.object.name] = event.object
            if len(found) >= wanted:
                break
    return list(found.values())


async def test_an_operator_that_is_killed_in_the_middle_goes_on_where_it_was(
    env: Environment, sample: Any, tmp_path: Path
) -> None:
    """SIGKILL while it works: the next one finishes, nothing is there twice, and SIGTERM ends it in order."""
    user = f"{sample.module}-operator".replace("_", "-").replace(".", "-")
    await sample.install(env, user)
    namespace = await env.namespace()
    async with sample.process(env, tmp_path, user) as first:
        for number in range(OBJECTS):
            await env.client.create(sample.object(f"sample-{number}", namespace, **spec(sample, 2)))
            if number == OBJECTS // 2:
                await deployments(env, namespace, 1)
                first.kill()
    async with sample.process(env, tmp_path, user) as second:
        found = await deployments(env, namespace, OBJECTS)
        assert {one.name for one in found} == {f"sample-{number}" for number in range(OBJECTS)}
        assert {one.spec.replicas for one in found} == {2}
        assert second.returncode is None, (tmp_path / "operator.log").read_text()
        second.terminate()
        assert await second.wait() == 0, (tmp_path / "operator.log").read_text()


@pytest.fixture
async def managed(tmp_path: Path, samples: dict[str, Any]) -> AsyncIterator[Environment]:
    """A real control plane with its controller manager, whose garbage collector knows our kinds from the start."""
    folder = tmp_path / "plane"
    async with real(*(one.folder / "config/crd/bases" for one in samples.values()), folder=folder):
        pass
    async with real(folder=folder, options=Options(controller_manager=True)) as env:
        yield env


@pytest.mark.real
async def test_with_a_controller_manager_replica_sets_appear_and_everything_goes_at_the_end(
    managed: Environment, samples: dict[str, Any], tmp_path: Path
) -> None:
    for name in ("memcached", "bar"):
        sample = samples[name]
        await sample.install(managed, f"{name}-operator")
        namespace = await managed.namespace()
        async with sample.process(managed, tmp_path, f"{name}-operator", "--leader-elect"):
            created = await managed.client.create(sample.object("sample", namespace, **spec(sample, 2)))
            replica_set = await first_replica_set(managed, namespace)
            assert replica_set.spec.replicas == 2
            await managed.client.delete(created)
            await managed.gone(Deployment, "sample", namespace)
            await managed.gone(ReplicaSet, replica_set.name, namespace)


async def first_replica_set(env: Environment, namespace: str) -> ReplicaSet:
    async with asyncio.timeout(90), env.client.watch(ReplicaSet, namespace) as events:
        return (await anext(aiter(events))).object
