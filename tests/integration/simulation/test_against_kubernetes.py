"""The simulated controllers and the real kube-controller-manager and kube-scheduler, in the same stories.

Both have simulated nodes. After each step of a story the two clusters must come to say the same, except for names,
times and hashes, and for what kube-scheduler says of preemption, which is not simulated.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from tests.integration.simulation.objects import STUCK, Object, budget, deployment, service, template

from kapstan.client import Client, Patch
from kapstan.components.controlplane import ControlPlane, Options
from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.simulation import NodeSpec, Simulation
from kapstan.testing.environment import Environment, opened
from kapstan.testing.servers import RealAPIServer

pytestmark = pytest.mark.real

_TIMES = {"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime", "startTime"}
_UNDER_WAY = ("NewReplicaSetCreated", "ReplicaSetUpdated", "FoundNewReplicaSet")
_KINDS = {
    "deployments": GroupVersionKind("apps", "v1", "Deployment"),
    "replicasets": GroupVersionKind("apps", "v1", "ReplicaSet"),
    "pods": GroupVersionKind("", "v1", "Pod"),
    "endpointslices": GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"),
    "endpoints": GroupVersionKind("", "v1", "Endpoints"),
    "budgets": GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
}


class Step(NamedTuple):
    """Something that is done to a cluster, and how one sees that it has taken effect."""

    do: Callable[[Client, str], Any]
    settled: Callable[[Object], bool]


def create(make: Callable[[str], Object]) -> Callable[[Client, str], Any]:
    return lambda client, namespace: client.create(make(namespace))


def change(patch: Object) -> Callable[[Client, str], Any]:
    return lambda client, namespace: client.patch_named(Deployment, "web", namespace, Patch.strategic(patch))


def available(count: int, *, updated: int | None = None) -> Callable[[Object], bool]:
    """The Deployment has seen its spec, and has so many pods that are available and as many that are up to date."""

    def settled(state: Object) -> bool:
        status = state["deployments"][0]["status"]
        return bool(
            status.get("availableReplicas", 0) == count
            and status.get("updatedReplicas", 0) == (count if updated is None else updated)
        )

    return settled


STORIES: dict[str, list[Step]] = {
    "rolling": [
        Step(create(service), lambda state: bool(state["endpointslices"])),
        Step(create(lambda ns: budget(ns, minAvailable=2)), lambda state: bool(state["budgets"][0].get("status"))),
        Step(create(deployment), available(3)),
        Step(change({"spec": {"replicas": 5}}), available(5)),
        Step(change({"spec": {"replicas": 2}}), available(2)),
        Step(change(template("web:2")), available(2)),
        Step(change(template("web:3", dict(STUCK))), lambda state: available(2, updated=1)(state)),
        Step(
            change({"spec": {"replicas": 6}}), lambda state: state["deployments"][0]["status"].get("replicas", 0) == 8
        ),
        Step(change(template("web:2", dict.fromkeys(STUCK))), available(6)),
        Step(change({"spec": {"replicas": 0}}), lambda state: not state["pods"]),
    ],
    "recreating": [
        Step(create(lambda ns: deployment(ns, strategy={"type": "Recreate"})), available(3)),
        Step(change(template("web:2")), available(3)),
        Step(change({"spec": {"replicas": 4}}), available(4)),
    ],
    "pausing": [
        Step(create(lambda ns: deployment(ns, replicas=4, revisionHistoryLimit=1)), available(4)),
        Step(change({"spec": {"paused": True}}), available(4)),
        Step(change(template("web:2")), available(4, updated=0)),
        Step(change({"spec": {"replicas": 2}}), available(2, updated=0)),
        Step(change({"spec": {"paused": False}}), available(2)),
        Step(change(template("web:3")), available(2)),
    ],
    "failing": [
        Step(
            create(lambda ns: deployment(ns, annotations=dict(STUCK), progressDeadlineSeconds=1)),
            lambda state: "ProgressDeadlineExceeded" in json.dumps(state["deployments"]),
        ),
    ],
    "homeless": [
        Step(
            create(lambda ns: deployment(ns, replicas=1, requests={"cpu": "1000"})),
            lambda state: "Unschedulable" in json.dumps(state["pods"]),
        ),
    ],
}


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, all of it, for all stories."""
    options = Options(controller_manager=True, scheduler=True)
    plane = ControlPlane(tmp_path_factory.mktemp("kubernetes"), options)

    async def start() -> None:
        await plane.start()
        await plane.wait_ready()

    with ThreadPoolExecutor(1) as thread:  # a test's own loop may be running when the first asks for this
        try:
            thread.submit(asyncio.run, start()).result()
            yield plane
        finally:
            thread.submit(asyncio.run, plane.stop()).result()


@pytest.fixture
async def real(kubernetes: ControlPlane) -> AsyncIterator[Environment]:
    async with opened(RealAPIServer(kubernetes)) as environment:
        yield environment


@pytest.mark.parametrize("story", STORIES)
async def test_it_says_what_kubernetes_says(embedded: Environment, real: Environment, story: str) -> None:
    """Deployments, ReplicaSets, pods, endpoints and budgets are the same after each step."""
    async with (
        Simulation(embedded.config).running() as ours,
        Simulation(real.config, workloads=False).running() as theirs,
    ):
        for simulation in (ours, theirs):
            for number in range(2):
                await simulation.kubelets.register(NodeSpec(name=f"node-{number}"))
        namespaces = [await embedded.namespace(), await real.namespace()]
        await asyncio.gather(*map(_wait_for_account, (embedded, real), namespaces))
        for number, step in enumerate(STORIES[story]):
            for environment, namespace in zip((embedded, real), namespaces, strict=True):
                await step.do(environment.client, namespace)
            await _agree((embedded, real), namespaces, step, f"{story}, step {number}")
        for simulation in (ours, theirs):
            for number in range(2):
                await simulation.kubelets.remove(f"node-{number}", delete=True)


async def _wait_for_account(env: Environment, namespace: str) -> None:
    from kapstan.k8s.core_v1 import ServiceAccount

    await env.eventually(ServiceAccount, "default", namespace, timeout=60)


async def _agree(environments: tuple[Environment, ...], namespaces: list[str], step: Step, where: str) -> None:
    """Wait until both say the same, and that the step has taken effect."""
    ours: Object = {}
    theirs: Object = {}
    try:
        async with asyncio.timeout(60):
            while True:
                ours, theirs = [
                    await _state(environment.client, namespace)
                    for environment, namespace in zip(environments, namespaces, strict=True)
                ]
                if ours == theirs and step.settled(ours):
                    return
                await asyncio.sleep(0.2)  # both are asked, for there is nothing that watches two clusters
    except TimeoutError:
        pass
    assert step.settled(theirs), f"{where}: Kubernetes did not get there: {json.dumps(theirs, indent=1)}"
    assert _lines(ours) == _lines(theirs), where
    raise AssertionError(f"{where}: neither got there: {json.dumps(ours, indent=1)}")


def _lines(state: Object) -> list[str]:
    """One line for each object, so that a difference is seen."""
    return [f"{name} {json.dumps(one, sort_keys=True)}" for name, objects in state.items() for one in objects]


async def _state(client: Client, namespace: str) -> Object:
    lists = {name: list(await client.list(kind, namespace)) for name, kind in _KINDS.items()}
    revisions = {one["metadata"]["labels"]["pod-template-hash"]: _revision(one) for one in lists["replicasets"]}
    state = {name: [_normal(one, namespace, revisions) for one in objects] for name, objects in lists.items()}
    return {name: sorted(objects, key=lambda one: json.dumps(one, sort_keys=True)) for name, objects in state.items()}


def _revision(replica_set: Object) -> str:
    return f"hash-of-{replica_set['metadata']['annotations'].get('deployment.kubernetes.io/revision')}"


def _normal(obj: Object, namespace: str, revisions: dict[str, str]) -> Object:
    """An object without what two clusters cannot have in common."""
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind")}
    kept["labels"], kept["annotations"] = obj["metadata"].get("labels"), obj["metadata"].get("annotations", {})
    kept["owners"] = [
        {key: one.get(key) for key in ("kind", "controller", "blockOwnerDeletion")}
        for one in obj["metadata"].get("ownerReferences", ())
    ]
    kept["annotations"].pop("endpoints.kubernetes.io/last-change-trigger-time", None)
    for one in kept.get("status", {}).get("conditions", ()):
        if one.get("reason") in _UNDER_WAY:  # which of them it is depends on who was quicker, in Kubernetes itself
            one["reason"] = one["message"] = "under way"
    text = json.dumps(_without_chance(kept)).replace(namespace, "NAMESPACE")
    for hash, revision in revisions.items():
        text = re.sub(rf"{hash}-[a-z0-9]{{5}}", f"{revision}-POD", text).replace(hash, revision)
    text = re.sub(r"(nodes are available: [^.]*\.)[^\"]*", r"\1", text)
    normal: Object = json.loads(text)
    return normal


def _without_chance(value: Any) -> Any:
    if isinstance(value, list):
        items = [_without_chance(one) for one in value]
        return sorted(items, key=lambda one: json.dumps(one, sort_keys=True))
    if not isinstance(value, dict):
        return value
    chance = {"uid", "ip", "nodeName", "hostIP", "podIP", "hostIPs", "podIPs", "containerID", "containerStatuses"}
    chance |= {"addresses", "volumes", "volumeMounts", "observedGeneration", "clusterIP", "resourceVersion"}
    return {
        key: _without_chance(one)
        for key, one in value.items()
        if key not in _TIMES | chance or (key == "addresses" and isinstance(one[0], dict))
    }
