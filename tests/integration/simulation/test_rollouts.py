"""Deployments on simulated nodes: they become available, roll out, get stuck, go back, and never break a promise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.simulation.objects import STUCK, deployment, template

from kapstan.client import Patch
from kapstan.k8s.apps_v1 import Deployment, ReplicaSet
from kapstan.k8s.core_v1 import Pod
from kapstan.simulation import Simulation
from kapstan.testing import Environment


def complete(count: int) -> Any:
    """Every pod is of the present template, and available."""

    def condition(web: Deployment) -> bool:
        status = web.status
        seen = status.observed_generation == web.metadata.generation
        counts = (status.replicas or 0, status.updated_replicas or 0, status.available_replicas or 0)
        return seen and counts == (count, count, count)

    return condition


async def rolled_out(env: Environment, namespace: str, count: int) -> Deployment:
    return await env.eventually(Deployment, "web", namespace, complete(count), timeout=60)


async def change(env: Environment, namespace: str, patch: dict[str, object]) -> None:
    await env.client.patch_named(Deployment, "web", namespace, Patch.strategic(patch))


async def test_a_deployment_becomes_available(env: Environment) -> None:
    """Its pods are bound to nodes, have addresses and are ready; it says so as Kubernetes does."""
    async with env.simulate(nodes=2):
        namespace = await env.namespace()
        await env.client.create(deployment(namespace))
        web = await rolled_out(env, namespace, 3)
        reasons = {one.type: one.reason for one in web.status.conditions}
        pods = await env.client.list(Pod, namespace)
        assert reasons == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
        assert web.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
        assert {pod.status.phase for pod in pods} == {"Running"}
        assert len({pod.status.pod_ip for pod in pods}) == 3
        assert {pod.spec.node_name for pod in pods} <= {"node-0", "node-1"}


async def test_a_rollout_keeps_what_its_strategy_promises(env: Environment) -> None:
    """Never more than replicas and maxSurge together, never fewer available than replicas less maxUnavailable."""
    async with env.simulate(nodes=2):
        namespace = await env.namespace()
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        await env.client.create(deployment(namespace, replicas=4, strategy=strategy))
        await rolled_out(env, namespace, 4)
        async with counting(env, namespace) as counts:
            await change(env, namespace, template("web:2"))
            await rolled_out(env, namespace, 4)
        assert min(available for _, available in counts) >= 4
        assert max(present for present, _ in counts) <= 5


@asynccontextmanager
async def counting(env: Environment, namespace: str) -> AsyncIterator[list[tuple[int, int]]]:
    """How many pods there are that nobody has deleted, and how many of them are ready, after each change."""
    counts: list[tuple[int, int]] = []
    pods: dict[str, Pod] = {}
    begun = asyncio.Event()

    async def count() -> None:
        listed = await env.client.list(Pod, namespace)
        pods.update({pod.name: pod for pod in listed})
        begun.set()
        async for event in env.client.watch(Pod, namespace, resource_version=listed.resource_version):
            pods[event.object.name] = event.object
            if event.type == "DELETED":
                del pods[event.object.name]
            alive = [pod for pod in pods.values() if not pod.deleting]
            ready = [
                pod for pod in alive for one in pod.status.conditions if (one.type, one.status) == ("Ready", "True")
            ]
            counts.append((len(alive), len(ready)))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(count())
        await begun.wait()
        yield counts
        task.cancel()


async def test_a_rollout_that_cannot_start_leaves_the_old_pods_alone_and_can_be_undone(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, progressDeadlineSeconds=1))
        await rolled_out(env, namespace, 3)
        await change(env, namespace, template("web:2", dict(STUCK)))

        def timed_out(web: Deployment) -> bool:
            return any(one.reason == "ProgressDeadlineExceeded" for one in web.status.conditions)

        stuck = await env.eventually(Deployment, "web", namespace, timed_out)
        assert stuck.status.available_replicas == 3
        await change(env, namespace, template("web:1", dict.fromkeys(STUCK)))
        web = await rolled_out(env, namespace, 3)
        assert web.metadata.annotations["deployment.kubernetes.io/revision"] == "3"
        (current,) = [one for one in await env.client.list(ReplicaSet, namespace) if one.spec.replicas]
        assert current.metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreate_lets_old_and_new_never_meet(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, strategy={"type": "Recreate"}))
        await rolled_out(env, namespace, 3)
        async with counting(env, namespace) as counts:
            await change(env, namespace, template("web:2"))
            await rolled_out(env, namespace, 3)
        assert min(present for present, _ in counts) == 0
        assert max(present for present, _ in counts) <= 3


async def test_min_ready_seconds_make_a_ready_pod_wait(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=1, minReadySeconds=1))
        ready = await env.eventually(Deployment, "web", namespace, lambda web: web.status.ready_replicas == 1)
        assert not ready.status.available_replicas
        await rolled_out(env, namespace, 1)


async def test_old_revisions_go_beyond_the_limit(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=1, revisionHistoryLimit=1))
        for image in ("web:1", "web:2", "web:3"):
            await change(env, namespace, template(image))
            await rolled_out(env, namespace, 1)

        (first, *others) = sorted(await env.client.list(ReplicaSet, namespace), key=_revision)
        if others[1:]:
            await env.gone(ReplicaSet, first.name, namespace)
        assert [_revision(one) for one in await env.client.list(ReplicaSet, namespace)].count("1") == 0


def _revision(replica_set: ReplicaSet) -> str:
    return replica_set.metadata.annotations["deployment.kubernetes.io/revision"]


async def test_an_orphan_is_adopted_and_one_that_no_longer_matches_released(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=2))
        await rolled_out(env, namespace, 2)
        lost, kept = await env.client.list(Pod, namespace)
        await env.client.patch(lost, Patch.merge({"metadata": {"labels": {"app": "other"}}}))
        released = await env.eventually(Pod, lost.name, namespace, lambda pod: not pod.metadata.owner_references)
        await env.eventually(ReplicaSet, kept.metadata.owner_references[0].name, namespace, _has_ready(2))
        await env.client.patch(released, Patch.merge({"metadata": {"labels": {"app": "web"}}}))
        await env.eventually(Pod, lost.name, namespace, lambda pod: pod.metadata.owner_references or pod.deleting)
        await env.eventually(ReplicaSet, kept.metadata.owner_references[0].name, namespace, _has_ready(2))


def _has_ready(count: int) -> Any:
    return lambda one: (one.status.replicas, one.status.ready_replicas) == (count, count)


async def test_a_simulation_that_begins_again_goes_on_where_it_was(env: Environment) -> None:
    """Everything that it needs is in the API."""
    namespace = await env.namespace()
    simulation = Simulation(env.config)
    async with simulation.running():
        await env.client.create(deployment(namespace))
        await env.eventually(Deployment, "web", namespace, lambda web: web.status.replicas == 3)
    async with env.simulate():
        before = await rolled_out(env, namespace, 3)
        pods = {pod.uid for pod in await env.client.list(Pod, namespace)}
    async with env.simulate():
        await change(env, namespace, {"spec": {"replicas": 4}})
        after = await rolled_out(env, namespace, 4)
        assert after.uid == before.uid
        assert pods < {pod.uid for pod in await env.client.list(Pod, namespace)}
