"""Simulated nodes: they register, live, fail in several ways, recover, and go."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.simulation.objects import deployment

from kapstan.client import Patch
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.coordination_v1 import Lease
from kapstan.k8s.core_v1 import Node, Pod, Taint
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.simulation import Failure, NodeSpec, Simulation, Timing
from kapstan.testing import Environment

NODE = NodeSpec(
    name="worker-1",
    provider_id="simulated:///a/worker-1",
    version="v1.35.2",
    addresses=(("InternalIP", "10.0.0.7"), ("ExternalIP", "192.0.2.7")),
    labels={"pool": "blue"},
    taints=(Taint(key="dedicated", value="blue", effect="NoSchedule"),),
    cpu="2",
    memory="4Gi",
)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"containers": [{"name": "c", "image": "c:1"}], "terminationGracePeriodSeconds": 3},
}


def ready(status: str) -> Any:
    return lambda obj: any((one.type, one.status) == ("Ready", status) for one in obj.status.conditions)


def taints(node: Node) -> set[tuple[str, str]]:
    return {(one.key.removeprefix("node.kubernetes.io/"), one.effect) for one in node.spec.taints}


async def pod_on(env: Environment, node: str, name: str = "p", **spec: object) -> Pod:
    """A pod that somebody has bound to a node."""
    namespace = await env.namespace()
    made = {**POD, "metadata": {"name": name, "namespace": namespace}}
    made["spec"] = {**POD["spec"], "nodeName": node, **spec}  # type: ignore[dict-item]
    await env.client.create(made)
    return await env.eventually(Pod, name, namespace)


async def test_a_node_registers_as_its_computer_is(env: Environment) -> None:
    """Again and again, with the same result; what has changed is said, what others have added stays."""
    async with Simulation(env.config).running() as simulation:
        await simulation.kubelets.register(NODE)
        await simulation.kubelets.register(NODE)
        node = await env.eventually(Node, "worker-1", "", lambda node: len(node.spec.taints) == 1)
        assert node.spec.provider_id == NODE.provider_id
        assert {one.type: one.address for one in node.status.addresses} == dict(NODE.addresses)
        assert node.metadata.labels["pool"] == "blue" and node.metadata.labels["kubernetes.io/hostname"] == "worker-1"
        assert taints(node) == {("dedicated", "NoSchedule")}
        assert (str(node.status.allocatable["cpu"]), str(node.status.allocatable["memory"])) == ("2", "4Gi")
        assert node.status.node_info is not None and node.status.node_info.kubelet_version == "v1.35.2"
        assert node.spec.pod_cidr is None  # for a controller manager to give
        await env.client.patch(node, Patch.merge({"metadata": {"labels": {"added": "later"}}}))
        await simulation.kubelets.register(NodeSpec(name="worker-1", version="v1.36.0", labels={"pool": "green"}))
        again = await env.client.get(Node, "worker-1")
        assert (again.metadata.labels["pool"], again.metadata.labels["added"]) == ("green", "later")
        assert again.status.node_info is not None and again.status.node_info.kubelet_version == "v1.36.0"
        assert again.spec.provider_id == NODE.provider_id
        await simulation.kubelets.remove("worker-1", delete=True)


async def test_leases_are_renewed(env: Environment) -> None:
    async with env.simulate(timing=Timing(heartbeat=0.2)):
        first = await env.eventually(Lease, "node-0", "kube-node-lease")
        await env.eventually(
            Lease, "node-0", "kube-node-lease", lambda lease: lease.spec.renew_time != first.spec.renew_time
        )
        assert first.spec.holder_identity == "node-0" and first.spec.renew_time is not None
        assert [ref.kind for ref in first.metadata.owner_references] == ["Node"]


async def test_a_dead_node_is_given_up_and_one_that_recovers_is_taken_back(env: Environment) -> None:
    """Its conditions are unknown, it is tainted, and its pods are not ready, until it shows that it lives."""
    timing = Timing(heartbeat=0.2)
    async with Simulation(env.config, timing=timing, node_grace=2).running() as simulation:
        await simulation.kubelets.register(NodeSpec(name="node-0"))
        pod = await pod_on(env, "node-0")
        await env.eventually(Pod, pod.name, pod.namespace, ready("True"))
        await simulation.kubelets.fail("node-0", Failure.DEAD)
        lost = await env.eventually(Node, "node-0", "", lambda node: ready("Unknown")(node) and node.spec.taints)
        assert {one.reason for one in lost.status.conditions} == {"NodeStatusUnknown"}
        tainted = await env.eventually(Node, "node-0", "", lambda node: len(node.spec.taints) == 2)
        assert taints(tainted) == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        await env.eventually(Pod, pod.name, pod.namespace, ready("False"))
        await simulation.kubelets.recover("node-0")
        await env.eventually(Node, "node-0", "", lambda node: ready("True")(node) and not node.spec.taints)
        await env.eventually(Pod, pod.name, pod.namespace, ready("True"))
        await env.client.delete(pod, grace_period=0)
        await simulation.kubelets.remove("node-0", delete=True)


async def test_a_node_that_is_not_ready_says_so_itself(env: Environment) -> None:
    async with env.simulate() as simulation:
        await simulation.kubelets.fail("node-0", Failure.NOT_READY)
        node = await env.eventually(Node, "node-0", "", lambda node: len(node.spec.taints) == 2)
        assert taints(node) == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
        await simulation.kubelets.recover("node-0")
        await env.eventually(Node, "node-0", "", lambda node: not node.spec.taints)


async def test_a_node_that_flaps_changes_its_mind_until_it_recovers(env: Environment) -> None:
    async with env.simulate(timing=Timing(flap=0.2)) as simulation:
        await simulation.kubelets.fail("node-0", Failure.FLAPPING)
        for status in ("False", "True", "False"):
            await env.eventually(Node, "node-0", "", ready(status))
        await simulation.kubelets.recover("node-0")
        await env.eventually(Node, "node-0", "", lambda node: ready("True")(node) and not node.spec.taints)


async def test_pods_of_a_node_that_is_gone_run_elsewhere(env: Environment) -> None:
    """Nobody is left there to end them, so they are deleted; their controller makes new ones."""
    async with env.simulate(nodes=2) as simulation:
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=4))
        await env.eventually(Deployment, "web", namespace, lambda web: web.status.available_replicas == 4)
        await simulation.kubelets.remove("node-0", delete=True)

        def moved(web: Deployment) -> bool:
            return web.status.available_replicas == 4 and web.status.replicas == 4

        while {pod.spec.node_name for pod in await env.client.list(Pod, namespace)} != {"node-1"}:
            await env.eventually(Deployment, "web", namespace, moved)


async def test_deletion_takes_as_long_as_containers_do_but_no_longer_than_the_grace_period(env: Environment) -> None:
    """A pod that is being deleted stays, still running, until its containers have ended."""
    async with env.simulate(timing=Timing(stop=600)):
        pod = await pod_on(env, "node-0")
        await env.eventually(Pod, pod.name, pod.namespace, ready("True"))
        await env.client.delete(pod, grace_period=1)
        ending = await env.client.find(Pod, pod.name, pod.namespace)
        assert ending is not None and ending.deleting and ending.status.phase == "Running"
        await env.gone(Pod, pod.name, pod.namespace)


async def test_a_pod_with_finalizers_ends_before_it_is_gone(env: Environment) -> None:
    async with env.simulate():
        pod = await pod_on(env, "node-0")
        await env.eventually(Pod, pod.name, pod.namespace, ready("True"))
        await env.client.patch(pod, Patch.merge({"metadata": {"finalizers": ["example.com/held"]}}))
        await env.client.delete(pod)
        await env.eventually(Pod, pod.name, pod.namespace, lambda one: one.status.phase == "Succeeded")
        await env.client.patch(pod, Patch.merge({"metadata": {"finalizers": None}}))
        await env.gone(Pod, pod.name, pod.namespace)


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("1", "Failed")])
async def test_containers_that_shall_end_do(embedded: Environment, code: str, phase: str) -> None:
    async with embedded.simulate(timing=Timing(complete=0.1)):
        namespace = await embedded.namespace()
        made = {**POD, "metadata": {"name": "p", "namespace": namespace}}
        made["metadata"]["annotations"] = {"simulation.kapstan.dev/exit-code": code}  # type: ignore[index]
        made["spec"] = {**POD["spec"], "restartPolicy": "Never"}  # type: ignore[dict-item]
        await embedded.client.create(made)
        ended = await embedded.eventually(Pod, "p", namespace, lambda pod: pod.status.phase == phase)
        (status,) = ended.status.container_statuses
        assert status.state is not None and status.state.terminated is not None
        assert status.state.terminated.exit_code == int(code)


async def test_nothing_is_watched_before_there_is_a_node(embedded: Environment) -> None:
    """A simulation for machines that do not exist yet costs nothing."""
    async with Simulation(embedded.config, workloads=False).running() as simulation:
        assert list(simulation.cluster.informers) == []
        await simulation.kubelets.register(NodeSpec(name="node-0"))
        pod = await pod_on(embedded, "node-0")
        await embedded.eventually(Pod, pod.name, pod.namespace, ready("True"))
        kinds = {informer.gvk for informer in simulation.cluster.informers}
        assert kinds == {GroupVersionKind("", "v1", "Pod"), GroupVersionKind("", "v1", "Node")}
