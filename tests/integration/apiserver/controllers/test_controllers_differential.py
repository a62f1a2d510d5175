"""The embedded server's controllers, and a real kube-controller-manager, in the same stories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.apiserver.controllers import limits, placement, policies, quotas, security, storage
from tests.integration.apiserver.strategy.conftest import Both
from tests.unit.apiserver.strategy.asking import Server, normal

from kapstan.components.controlplane import Options
from kapstan.testing import environment
from kapstan.testing.environment import Environment

pytestmark = pytest.mark.real

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
HELD = "example.com/held"


@pytest.fixture
async def both(embedded: Environment, tmp_path: Path) -> AsyncIterator[Both]:
    async with environment.real(options=Options(controller_manager=True)) as real:
        servers = Both(Server(embedded, tmp_path), Server(real, tmp_path))
        yield servers
        for server in servers:
            await server.close()


def config_map(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def owned_by(*owners: Object, block: bool = False) -> list[Object]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]


async def made(server: Server, name: str, **metadata: Any) -> Object:
    answer = await server.create(config_map(name, **metadata))
    assert answer.status == 201, answer
    found: Object = answer.body
    return found


async def until(server: Server, path: str, fine: Callable[[int, Object], bool]) -> Object:
    """Ask until the answer is as it should be."""
    async with asyncio.timeout(60):
        while True:
            answer = await server.ask("GET", path)
            if fine(answer.status, answer.body):
                found: Object = answer.body
                return found
            await asyncio.sleep(0.05)


async def until_gone(server: Server, path: str) -> None:
    await until(server, path, lambda status, _: status == 404)


async def deleted(server: Server, name: str, policy: str) -> None:
    answer = await server.ask("DELETE", f"{MAPS}/{name}", {"propagationPolicy": policy})
    assert answer.status == 200, answer


def content(obj: Object) -> Object:
    found: Object = normal(obj)
    found["metadata"].pop("deletionTimestamp", None)
    return found


async def new_namespace(server: Server) -> list[Any]:
    await server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fresh"}})
    base = "/api/v1/namespaces/fresh"
    account = await until(server, f"{base}/serviceaccounts/default", lambda status, _: status == 200)
    bundle = await until(server, f"{base}/configmaps/kube-root-ca.crt", lambda status, _: status == 200)
    # Whoever breaks them finds them mended.
    await server.ask("DELETE", f"{base}/serviceaccounts/default")
    await until(server, f"{base}/serviceaccounts/default", lambda status, _: status == 200)
    change = {"data": {"ca.crt": "x", "more": "y"}}
    await server.ask(
        "PATCH", f"{base}/configmaps/kube-root-ca.crt", change, content_type="application/merge-patch+json"
    )
    mended = await until(server, f"{base}/configmaps/kube-root-ca.crt", lambda _, body: body["data"]["ca.crt"] != "x")
    assert mended["data"] == bundle["data"]
    return [content(account), sorted(bundle["data"]), sorted(bundle["metadata"].get("annotations", {}))]


async def background(server: Server) -> list[Any]:
    owner, other = await made(server, "owner"), await made(server, "other")
    await made(server, "child", ownerReferences=owned_by(owner))
    await made(server, "shared", ownerReferences=owned_by(owner, other))
    await deleted(server, "owner", "Background")
    await until_gone(server, f"{MAPS}/child")
    shared = await until(server, f"{MAPS}/shared", lambda _, body: len(body["metadata"]["ownerReferences"]) == 1)
    return [shared["metadata"]["ownerReferences"][0]["name"]]


async def orphans(server: Server) -> list[Any]:
    owner = await made(server, "leaving")
    await made(server, "orphan", ownerReferences=owned_by(owner))
    await deleted(server, "leaving", "Orphan")
    await until_gone(server, f"{MAPS}/leaving")
    return [content((await server.ask("GET", f"{MAPS}/orphan")).body)]


async def foreground(server: Server) -> list[Any]:
    owner = await made(server, "last")
    await made(server, "first", ownerReferences=owned_by(owner, block=True), finalizers=[HELD])
    await deleted(server, "last", "Foreground")
    waits = await until(server, f"{MAPS}/first", lambda _, body: "deletionTimestamp" in body["metadata"])
    stays = (await server.ask("GET", f"{MAPS}/last")).body
    await server.merge(config_map("first"), {"metadata": {"finalizers": None}})
    await until_gone(server, f"{MAPS}/last")
    return [content(stays)["metadata"]["finalizers"], content(waits)["metadata"]["finalizers"]]


async def absent_owners(server: Server) -> list[Any]:
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}
    await made(server, "haunted", ownerReferences=owned_by(ghost))
    await until_gone(server, f"{MAPS}/haunted")
    living = await made(server, "living")
    impostor = {"metadata": {"name": "living", "uid": "00000000-0000-0000-0000-000000000001"}}
    await made(server, "mistaken", ownerReferences=owned_by(impostor))
    await until_gone(server, f"{MAPS}/mistaken")
    await made(server, "half", ownerReferences=owned_by(living, ghost))
    half = await until(server, f"{MAPS}/half", lambda _, body: len(body["metadata"]["ownerReferences"]) == 1)
    return [half["metadata"]["ownerReferences"][0]["name"]]


async def ending_namespace(server: Server) -> list[Any]:
    await server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
    base = "/api/v1/namespaces/ending"
    await until(server, f"{base}/serviceaccounts/default", lambda status, _: status == 200)
    for name, finalizers in (("held", [HELD]), ("plain", [])):
        await server.ask("POST", f"{base}/configmaps", config_map(name, finalizers=finalizers))
    await server.ask("DELETE", base)

    def reported(_: int, body: Object) -> bool:
        conditions = {one["type"]: one["status"] for one in body["status"].get("conditions", [])}
        return conditions.get("NamespaceFinalizersRemaining") == "True"

    blocked = await until(server, base, reported)
    await until_gone(server, f"{base}/configmaps/plain")
    for condition in blocked["status"]["conditions"]:
        condition.pop("lastTransitionTime")
    change = {"metadata": {"finalizers": None}}
    await server.ask("PATCH", f"{base}/configmaps/held", change, content_type="application/merge-patch+json")
    await until_gone(server, base)
    return [sorted(blocked["status"]["conditions"], key=lambda one: str(one["type"])), blocked["status"]["phase"]]


async def budgets(server: Server) -> list[Any]:
    container = {"name": "c", "image": "i"}
    for number, ready in enumerate(("True", "True", "False")):
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "labels": {"app": "x"}}}
        pod["spec"] = {"containers": [container], "nodeName": "n", "automountServiceAccountToken": False}
        answer = await server.create(pod)
        assert answer.status == 201, answer
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        await server.merge(pod, {"status": status}, "status")
    selector = {"matchLabels": {"app": "x"}}
    found = []
    for name, least in (("some", 1), ("all", 3)):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
        budget["spec"] = {"minAvailable": least, "selector": selector}
        await server.create(budget)
        path = server.path(budget, name)
        counted = await until(server, path, lambda _, body: body["status"].get("currentHealthy") == 2)
        for condition in counted["status"].get("conditions", ()):
            condition.pop("lastTransitionTime")
        found.append(counted["status"])
    return found


async def own_service(server: Server) -> list[Any]:
    service = await until(server, "/api/v1/namespaces/default/services/kubernetes", lambda status, _: status == 200)
    for port in service["spec"]["ports"]:
        port.pop("targetPort")
    return [content(service)]


async def service_range(server: Server) -> list[Any]:
    path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    found = await until(server, path, lambda status, body: status == 200 and "conditions" in body.get("status", {}))
    found["metadata"].pop("finalizers", None)  # kube-controller-manager protects ranges that are in use
    for condition in found["status"]["conditions"]:
        condition.pop("lastTransitionTime")
        condition.pop("message")  # which kube-controller-manager words otherwise, sooner or later
    return [content(found)]


STORIES = (
    new_namespace,
    background,
    orphans,
    foreground,
    absent_owners,
    ending_namespace,
    budgets,
    own_service,
    service_range,
    *quotas.STORIES,
    *limits.STORIES,
    *storage.STORIES,
    *security.STORIES,
    *placement.STORIES,
    *policies.STORIES,
)


async def test_controllers_do_the_same(both: Both) -> None:
    await until(both.real, "/api/v1/namespaces/default/serviceaccounts/default", lambda status, _: status == 200)
    for story in STORIES:
        ours, theirs = await both.ask(story)
        assert ours == theirs, story.__name__
