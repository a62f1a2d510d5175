"""Services of simulated pods: their endpoints follow the pods; a disruption budget keeps enough of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from tests.integration.simulation.objects import budget, deployment, service

from kapstan.client import Patch
from kapstan.components import assets
from kapstan.k8s.apps_v1 import Deployment, ReplicaSet
from kapstan.k8s.core_v1 import Endpoints, Pod, Service
from kapstan.k8s.discovery_v1 import EndpointSlice
from kapstan.k8s.policy_v1 import PodDisruptionBudget
from kapstan.machinery.errors import TooManyRequests
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment


def has_addresses(count: int) -> Any:
    def condition(endpoints: Endpoints) -> bool:
        return sum(len(subset.addresses) for subset in endpoints.subsets) == count

    return condition


async def ready_endpoints(env: Environment, namespace: str) -> list[str]:
    slices = await env.client.list(EndpointSlice, namespace, labels={"kubernetes.io/service-name": "web"})
    return [
        endpoint.addresses[0]
        for one in slices
        for endpoint in one.endpoints
        if endpoint.conditions is not None and endpoint.conditions.ready
    ]


async def test_endpoints_are_the_ready_pods(env: Environment) -> None:
    """The named port is resolved; pods that go are out at once; more than a hundred are several slices."""
    async with env.simulate(nodes=2):
        namespace = await env.namespace()
        await env.client.create(service(namespace))
        await env.client.create(deployment(namespace, replicas=101))
        endpoints = await env.eventually(Endpoints, "web", namespace, has_addresses(101), timeout=120)
        assert [(port.name, port.port) for port in endpoints.subsets[0].ports] == [("web", 8080)]
        pods = {pod.status.pod_ip for pod in await env.client.list(Pod, namespace)}
        assert {*await ready_endpoints(env, namespace)} == pods
        assert len(await env.client.list(EndpointSlice, namespace)) == 2
        await env.client.patch_named(Deployment, "web", namespace, Patch.merge({"spec": {"replicas": 1}}))
        await env.eventually(Endpoints, "web", namespace, has_addresses(1), timeout=120)
        await env.client.delete(Deployment, "web", namespace)


async def test_endpoints_go_with_their_service(env: Environment) -> None:
    """Also if the Service went while nobody looked; those that are no Service's, and came later, stay."""
    namespace = await env.namespace()
    async with env.simulate(nodes=1):
        await env.client.create(service(namespace))
        await env.eventually(Endpoints, "web", namespace, lambda endpoints: True)
        await env.client.create(Endpoints(metadata=ObjectMeta(name="alone", namespace=namespace)))
        await env.client.delete(Service, "web", namespace)
        await env.gone(Endpoints, "web", namespace)
        assert await env.client.find(Endpoints, "alone", namespace) is not None
        await env.client.create(service(namespace))
        await env.eventually(Endpoints, "web", namespace, lambda endpoints: True)
    await env.client.delete(Service, "web", namespace)
    async with env.simulate(nodes=1):
        await env.gone(Endpoints, "web", namespace)


async def test_evictions_leave_what_a_budget_demands(embedded: Environment) -> None:
    """The embedded server counts; it can, since pods become ready."""
    async with embedded.simulate():
        namespace = await embedded.namespace()
        await embedded.client.create(budget(namespace, minAvailable=1))
        slow = {"simulation.kapstan.dev/ready-after": "1h"}
        await embedded.client.create(deployment(namespace, replicas=2))
        await embedded.eventually(
            PodDisruptionBudget, "web", namespace, lambda one: one.status.disruptions_allowed == 1
        )
        patch = {"spec": {"paused": True}}  # the set makes pods of the old template only
        await embedded.client.patch_named(Deployment, "web", namespace, Patch.merge(patch))
        (name,) = {
            ref.name for pod in await embedded.client.list(Pod, namespace) for ref in pod.metadata.owner_references
        }
        changed = {"spec": {"template": {"metadata": {"annotations": slow}}}}
        await embedded.client.patch_named(ReplicaSet, name, namespace, Patch.merge(changed))
        first, second = await embedded.client.list(Pod, namespace)
        await embedded.client.evict(first.name, namespace)
        await embedded.gone(Pod, first.name, namespace)
        with pytest.raises(TooManyRequests):
            await embedded.client.evict(second.name, namespace)


@pytest.mark.real
async def test_kubectl_follows_a_rollout_scales_and_undoes_it(env: Environment, tmp_path: Path) -> None:
    """The real kubectl is content with what it reads."""
    kubectl = (await assets.find_all(["kubectl"]))["kubectl"]
    kubeconfig = env.write_kubeconfig(tmp_path / "kubeconfig")

    async def run(*arguments: str) -> str:
        program = await asyncio.create_subprocess_exec(
            str(kubectl), f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", *arguments, stdout=PIPE, stderr=PIPE
        )
        out, err = await program.communicate()
        assert program.returncode == 0, err.decode()
        return out.decode()

    async with env.simulate():
        namespace = await env.namespace()
        await env.client.create(deployment(namespace, replicas=2))
        assert "successfully rolled out" in await run("rollout", "status", "deployment/web", "--timeout=60s")
        await run("set", "image", "deployment/web", "web=web:2")
        assert "successfully rolled out" in await run("rollout", "status", "deployment/web", "--timeout=60s")
        await run("rollout", "undo", "deployment/web")
        await run("rollout", "status", "deployment/web", "--timeout=60s")
        assert "web:1" in await run("get", "deployment/web", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
        await run("scale", "deployment/web", "--replicas=3")
        await run("wait", "deployment/web", "--for=jsonpath={.status.availableReplicas}=3", "--timeout=60s")
        await run("delete", "deployment/web")
