"""DaemonSets on simulated nodes: one pod on each that it is for, also on those that come later."""

from __future__ import annotations

from typing import Any

from kapstan.client import Patch
from kapstan.k8s.apps_v1 import DaemonSet
from kapstan.k8s.core_v1 import Pod, Taint
from kapstan.simulation import NodeSpec
from kapstan.testing import Environment


def agent(namespace: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "agent"}
    pod = {"containers": [{"name": "agent", "image": "agent:1"}], "hostNetwork": True, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }


def runs_on(count: int) -> Any:
    """So many pods are wanted, are there, are up to date and ready."""

    def condition(daemon_set: DaemonSet) -> bool:
        status = daemon_set.status
        counts = (status.desired_number_scheduled, status.updated_number_scheduled, status.number_available)
        seen = status.observed_generation == daemon_set.metadata.generation
        return seen and counts == (count, count, count)

    return condition


async def test_every_node_has_a_pod_and_a_new_node_gets_one(env: Environment) -> None:
    """A node whose taint is not tolerated has none; a cordoned one has."""
    async with env.simulate(nodes=2) as simulation:
        namespace = await env.namespace()
        await env.client.create(agent(namespace))
        await env.eventually(DaemonSet, "agent", namespace, runs_on(2))
        await simulation.kubelets.register(NodeSpec(name="late"))
        taint = Taint(key="dedicated", value="x", effect="NoSchedule")
        await simulation.kubelets.register(NodeSpec(name="other", taints=(taint,)))
        await env.eventually(DaemonSet, "agent", namespace, runs_on(3))
        pods = await env.client.list(Pod, namespace)
        assert sorted(pod.spec.node_name or "" for pod in pods) == ["late", "node-0", "node-1"]
        assert all(pod.status.pod_ip == pod.status.host_ip for pod in pods)
        for name in ("late", "other"):
            await simulation.kubelets.remove(name, delete=True)
        await env.eventually(DaemonSet, "agent", namespace, runs_on(2))
        await env.client.delete(DaemonSet, "agent", namespace)


async def test_a_change_replaces_every_pod(env: Environment) -> None:
    async with env.simulate(nodes=3):
        namespace = await env.namespace()
        await env.client.create(agent(namespace))
        await env.eventually(DaemonSet, "agent", namespace, runs_on(3))
        before = {pod.uid for pod in await env.client.list(Pod, namespace)}
        containers = [{"name": "agent", "image": "agent:2"}]
        patch = Patch.strategic({"spec": {"template": {"spec": {"containers": containers}}}})
        await env.client.patch_named(DaemonSet, "agent", namespace, patch)
        await env.eventually(DaemonSet, "agent", namespace, runs_on(3))
        after = await env.client.list(Pod, namespace)
        assert not before & {pod.uid for pod in after if not pod.deleting}
        assert {pod.spec.containers[0].image for pod in after if not pod.deleting} == {"agent:2"}
        await env.client.delete(DaemonSet, "agent", namespace)
