"""Evictions, bindings, scales, field selectors and pods' last moments: both servers in the same story."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.apiserver.strategy.asking import Answer, Server, normal, outcome
from tests.unit.apiserver.strategy.cases.objects import CASES, deployment, made, pod

if TYPE_CHECKING:
    from tests.integration.apiserver.strategy.conftest import Both

pytestmark = pytest.mark.real

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SET = "spread=evictions"


def told(answer: Answer) -> Any:
    """An answer in short, for comparison."""
    if answer.status >= 300:
        return answer.body.get("reason"), normal(answer.body["message"]), outcome(answer), answer.warnings
    return outcome(answer), answer.warnings


async def alike(both: Both, story: Callable[..., Awaitable[list[Answer]]], *details: Any) -> None:
    """Let both servers live through a story, and insist that they tell the same."""
    ours, theirs = await both.ask(story, *details)
    for step, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert told(mine) == told(other), step


def eviction(name: str, **options: Any) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **options}


async def running(server: Server, name: str, **labels: str) -> None:
    answer = await server.create(pod(name, metadata={"labels": labels}, nodeName="n"))
    assert answer.status == 201, answer
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    answer = await server.merge(pod(name), {"status": ready}, "status")
    assert answer.status == 200, answer


async def test_evictions(both: Both) -> None:
    async def story(server: Server) -> list[Answer]:
        for name in ("evict-a", "evict-b", "evict-free"):
            await running(server, name, **({"app": "evicted"} if name != "evict-free" else {}))
        selector = {"matchLabels": {"app": "evicted"}}
        budget = made("policy/v1", "PodDisruptionBudget", "evictions", spec={"minAvailable": 1, "selector": selector})
        await server.create(budget)
        answers = [await server.ask("POST", f"{PODS}/evict-a/eviction", eviction("evict-a"))]  # nobody looked at it yet
        counts = {"observedGeneration": 1, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1}
        await server.merge(budget, {"status": {**counts, "disruptionsAllowed": 1}}, "status")
        asked = (
            ("evict-a", eviction("other")),
            ("evict-a", eviction("evict-a", deleteOptions={"dryRun": ["All"]})),
            ("evict-a", eviction("evict-a", deleteOptions={"preconditions": {"uid": "other"}})),
            ("evict-a", eviction("evict-a")),
            ("evict-a", eviction("evict-a")),
            ("evict-b", eviction("evict-b")),
            ("evict-free", eviction("evict-free", deleteOptions={"gracePeriodSeconds": 0})),
            ("missing", eviction("missing")),
        )
        for name, body in asked:
            answers.append(await server.ask("POST", f"{PODS}/{name}/eviction", body))
        found = await server.ask("GET", f"{BUDGETS}/evictions")
        found.body["status"]["disruptedPods"] = sorted(found.body["status"].get("disruptedPods", {}))
        answers.append(found)
        await server.delete(budget)
        for name in ("evict-a", "evict-b", "evict-free"):
            await server.delete(pod(name))
        return answers

    await alike(both, story)


async def test_bindings(both: Both) -> None:
    def binding(name: str, node: str, **metadata: Any) -> Object:
        return made("v1", "Binding", name, metadata=metadata, target={"kind": "Node", "name": node})

    async def story(server: Server) -> list[Answer]:
        await server.create(pod("bound"))
        gated = copy.deepcopy(CASES["pod: scheduling gates"])
        gated["metadata"]["name"] = "gated"
        await server.create(gated)
        answers = [
            await server.ask("POST", f"{PODS}/bound/binding", binding("bound", "")),
            await server.ask("POST", f"{PODS}/bound/binding", binding("other", "n")),
            await server.ask("POST", f"{PODS}/gated/binding", binding("gated", "n")),
            await server.ask("POST", f"{PODS}/bound/binding", binding("bound", "n", annotations={"a": "b"})),
            await server.ask("POST", f"{PODS}/bound/binding", binding("bound", "m")),
            await server.ask("POST", "/api/v1/namespaces/default/bindings", binding("missing", "n")),
        ]
        found = await server.ask("GET", f"{PODS}/bound")
        for condition in found.body["status"]["conditions"]:
            condition.pop("lastTransitionTime")
        answers.append(found)
        await server.delete(pod("bound"))
        await server.delete(gated)
        return answers

    await alike(both, story)


async def test_scales(both: Both) -> None:
    async def story(server: Server) -> list[Answer]:
        obj = deployment()
        obj["metadata"]["name"] = "scaled"
        await server.create(obj)
        path = server.path(obj, "scaled", "scale")
        scale = (await server.ask("GET", path)).body
        scale["spec"]["replicas"] = 5
        answers = [
            await server.ask("GET", path),
            await server.ask("PUT", path, {**scale, "metadata": {"name": "scaled", "resourceVersion": "1"}}),
            await server.ask("PUT", path, {**scale, "metadata": {"name": "scaled"}, "spec": {"replicas": -1}}),
            await server.ask("PUT", path, {**scale, "metadata": {"name": "scaled", "uid": "other"}}),
            await server.ask("PUT", path, {**scale, "metadata": {"name": "other"}}),
            await server.ask("PUT", path, {**scale, "kind": "Deployment"}),
            await server.ask("PUT", path, {**scale, "spec": {"replicas": "x"}}),
            await server.ask("PUT", path, {**scale, "metadata": {"name": "scaled"}}),
            await server.merge(obj, {"spec": {"replicas": 7}}, "scale"),
            await server.ask("GET", server.path(obj, "scaled")),
            await server.ask("GET", server.path(obj, "missing", "scale")),
        ]
        await server.delete(obj)
        return answers

    await alike(both, story)


async def test_finalizing_a_namespace(both: Both) -> None:
    async def story(server: Server) -> list[Answer]:
        obj = made("v1", "Namespace", "finalized")
        await server.create(obj)
        path = "/api/v1/namespaces/finalized"
        await server.ask("DELETE", path)
        body = {**obj, "spec": {"finalizers": ["bad finalizer!", "unqualified"]}}
        return [
            await server.ask("PUT", f"{path}/finalize", body),
            await server.ask("PUT", f"{path}/finalize", {**obj, "spec": {"finalizers": ["a.io/x", "kubernetes"]}}),
            await server.ask("PUT", f"{path}/finalize", {**obj, "spec": {}}),
            await server.ask("GET", path),
        ]

    await alike(both, story)


SELECTORS = (
    ("pods", "spec.nodeName=n", "spec.restartPolicy!=Never", "status.phase=Pending,metadata.name=x", "spec.unknown=x"),
    ("events", "involvedObject.kind=Pod", "reason!=x,type=Normal", "involvedObject.unknown=x"),
    ("secrets", "type=Opaque", "data=x"),
    ("nodes", "spec.unschedulable=true", "metadata.namespace=x"),
    ("namespaces", "status.phase=Active,metadata.name=default", "spec.x=y"),
    ("replicationcontrollers", "status.replicas=0", "spec.replicas=0"),
    ("configmaps", "metadata.name=x", "metadata.namespace=default", "data=x", "metadata.name~x"),
    ("services", "spec.clusterIP=None,spec.type=ClusterIP", "spec.ports=x"),
)


async def test_field_selectors(both: Both) -> None:
    async def story(server: Server, resource: str, selector: str) -> list[Answer]:
        clustered = resource in ("nodes", "namespaces")
        base = f"/api/v1/{resource}" if clustered else f"/api/v1/namespaces/default/{resource}"
        answer = await server.ask("GET", f"{base}?fieldSelector={selector.replace('=', '%3D')}")
        if answer.status == 200:
            names = {item["metadata"]["name"] for item in answer.body["items"]}
            answer.body["items"] = sorted(names & {"default", "selected"})
        return [answer]

    for obj in (pod("selected", nodeName="n"), made("v1", "Secret", "selected"), made("v1", "ConfigMap", "selected")):
        for server in both:
            await server.create(obj)
    for resource, *selectors in SELECTORS:
        for selector in selectors:
            await alike(both, story, resource, selector)


async def test_the_end_of_a_pod(both: Both) -> None:
    async def story(server: Server) -> list[Answer]:
        await server.create(pod("waiting"))
        await running(server, "ending")
        await running(server, "again", app="again")
        answers = [
            await server.ask("DELETE", f"{PODS}/waiting"),
            await server.ask("GET", f"{PODS}/waiting"),
            await server.ask("DELETE", f"{PODS}/ending?gracePeriodSeconds=7"),
            await server.ask("DELETE", f"{PODS}/ending?gracePeriodSeconds=3"),
            await server.ask("DELETE", f"{PODS}/ending?gracePeriodSeconds=30"),
            await server.ask("DELETE", f"{PODS}/ending?gracePeriodSeconds=0"),
            await server.ask("GET", f"{PODS}/ending"),
            await server.ask("DELETE", f"{PODS}/again"),
            await server.ask("DELETE", f"{PODS}?labelSelector=app%3Dagain", {"gracePeriodSeconds": 0}),
        ]
        for answer in answers:
            if answer.status == 200:
                for one in answer.body.get("items") or [answer.body]:
                    one.get("metadata", {}).pop("deletionTimestamp", None)
        return answers

    await alike(both, story)
