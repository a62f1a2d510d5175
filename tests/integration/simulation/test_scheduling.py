"""The simulated scheduler: pods go where they may and where there is room, and say why if there is none."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.integration.simulation.objects import deployment

from kapstan.client import Patch
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.core_v1 import Node, Pod, Taint
from kapstan.simulation import NodeSpec
from kapstan.testing import Environment


def unscheduled(message: str) -> Any:
    return lambda pod: any(
        (one.type, one.status, one.message) == ("PodScheduled", "False", message) for one in pod.status.conditions
    )


async def only_pod(env: Environment, namespace: str) -> Pod:
    await env.eventually(Deployment, "web", namespace, lambda web: web.status.replicas)
    (pod,) = await env.client.list(Pod, namespace)
    return pod


async def clear(env: Environment, namespace: str) -> None:
    """Give the room back: the next test may be on the same API server, where nobody collects what has no owner."""
    await env.client.patch_named(Deployment, "web", namespace, Patch.merge({"spec": {"replicas": 0}}))
    await env.eventually(Deployment, "web", namespace, lambda web: not web.status.replicas)
    await env.client.delete(Deployment, "web", namespace)


async def test_room_is_never_given_twice(env: Environment) -> None:
    """Nodes of four CPUs take two pods of two each, however many are bound at once."""
    async with env.simulate(nodes=3):
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=6, requests={"cpu": "2"}))
        await env.eventually(Deployment, "web", namespace, lambda web: web.status.available_replicas == 6)
        pods = await env.client.list(Pod, namespace)
        assert Counter(pod.spec.node_name for pod in pods) == {"node-0": 2, "node-1": 2, "node-2": 2}
        await clear(env, namespace)


async def test_a_pod_that_fits_nowhere_says_why_and_is_placed_when_a_node_comes(env: Environment) -> None:
    async with env.simulate() as simulation:
        namespace = await env.namespace()
        taint = Taint(key="dedicated", effect="NoSchedule")
        await simulation.kubelets.register(NodeSpec(name="reserved", taints=(taint,)))
        await env.eventually(Node, "reserved", "", lambda node: len(node.spec.taints) == 1)
        await env.client.create(deployment(namespace, replicas=1, requests={"cpu": "6"}))
        pod = await only_pod(env, namespace)
        why = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
        await env.eventually(Pod, pod.name, namespace, unscheduled(why))
        await simulation.kubelets.register(NodeSpec(name="large", cpu="8"))
        placed = await env.eventually(Pod, pod.name, namespace, lambda one: one.status.phase == "Running")
        assert placed.spec.node_name == "large"
        await clear(env, namespace)
        for name in ("reserved", "large"):
            await simulation.kubelets.remove(name, delete=True)


async def test_a_cordoned_node_takes_nothing_new_and_an_uncordoned_one_does(env: Environment) -> None:
    async with env.simulate():
        namespace = await env.namespace()
        await env.client.patch_named(Node, "node-0", "", Patch.merge({"spec": {"unschedulable": True}}))
        await env.client.create(deployment(namespace, replicas=1))
        pod = await only_pod(env, namespace)
        await env.eventually(Pod, pod.name, namespace, lambda one: one.status.conditions)
        await env.client.patch_named(Node, "node-0", "", Patch.merge({"spec": {"unschedulable": None}}))
        await env.eventually(Deployment, "web", namespace, lambda web: web.status.available_replicas == 1)
        await clear(env, namespace)
