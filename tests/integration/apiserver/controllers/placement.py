"""Stories about pods on nodes: labels of where they are, and sizes that fit."""

from __future__ import annotations

from typing import Any

from tests.integration.apiserver.controllers.quotas import MERGE, Namespace, Object, named, pod
from tests.unit.apiserver.strategy.asking import Server, normal

TOPOLOGY = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
STRATEGIC = "application/strategic-merge-patch+json"


async def placed(server: Server) -> list[Any]:
    space = await Namespace(server, "placed").made()
    for name, system in (("here", "linux"), ("there", "windows")):
        labels = {**TOPOLOGY, "kubernetes.io/os": system, "other": "x"}
        node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        await server.ask("POST", "/api/v1/nodes", node)
        allocatable = {"status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}}
        await server.ask("PATCH", f"/api/v1/nodes/{name}/status", allocatable, content_type=MERGE)
    requests = {"cpu": "500m", "memory": "100Mi"}
    await space.post("pods", pod("direct", requests, nodeName="here"))
    await space.post("pods", pod("bound", requests))
    await space.post("pods", pod("abroad", requests, nodeName="there"))
    await space.post("pods", pod("lost", requests, nodeName="nowhere"))
    binding = {"apiVersion": "v1", **named("Binding", "bound"), "target": {"kind": "Node", "name": "here"}}
    await server.ask("POST", f"{space.base}/pods/bound/binding", binding)
    for name in ("direct", "bound", "abroad", "lost"):
        body = (await server.ask("GET", f"{space.base}/pods/{name}")).body
        space.answers.append([body["metadata"].get("labels"), body["spec"].get("nodeName")])
        for size in ({"cpu": "900m"}, {"cpu": "1100m", "memory": "2Gi"}):
            change = {"spec": {"containers": [{"name": "c", "resources": {"requests": size}}]}}
            answer = await server.ask("PATCH", f"{space.base}/pods/{name}/resize", change, content_type=STRATEGIC)
            space.answers.append([answer.status, normal(answer.body) if answer.status >= 300 else None])
    return space.answers


async def declared_features(server: Server) -> list[Any]:
    """Pods as a whole, and their init containers, are resized by nodes that say they can."""
    space = await Namespace(server, "declared").made()
    for name, features in (("old", []), ("new", ["InPlacePodLevelResourcesVerticalScaling"])):
        node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        await server.ask("POST", "/api/v1/nodes", node)
        status = {"status": {"allocatable": {"cpu": "8", "memory": "8Gi"}, "declaredFeatures": features}}
        await server.ask("PATCH", f"/api/v1/nodes/{name}/status", status, content_type=MERGE)
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    init = {"name": "i", "image": "i", "resources": resources}
    for node_name in ("old", "new"):
        for name, spec in (("whole", {"resources": resources}), ("init", {"initContainers": [init]})):
            await space.post("pods", pod(f"{name}-{node_name}", {"cpu": "1"}, {"cpu": "1"}, nodeName=node_name, **spec))
            larger = {"requests": {"cpu": "1500m"}}
            changed = (
                {"resources": larger} if name == "whole" else {"initContainers": [{"name": "i", "resources": larger}]}
            )
            path = f"{space.base}/pods/{name}-{node_name}/resize"
            answer = await server.ask("PATCH", path, {"spec": changed}, content_type=STRATEGIC)
            space.answers.append([answer.status, normal(answer.body) if answer.status >= 300 else None])
    return space.answers


STORIES = (placed, declared_features)
