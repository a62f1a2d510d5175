"""A story about validating policies: what type checking says in their status."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.apiserver.strategy.asking import Server

Object = dict[str, Any]
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def on(resource: str, group: str = "apps", version: str = "v1") -> Object:
    return {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}


DEPLOYMENTS, PODS = on("deployments"), on("pods", "")
CONTAINER = "object.spec.template.spec.containers[0]"
CHECKED: dict[str, tuple[list[Object], list[str], Object]] = {
    "fine": ([DEPLOYMENTS], ["object.spec.replicas > 1", "object.metadata.labels['a'] == 'b'"], {}),
    "confused": ([DEPLOYMENTS], ["object.spec.replicas > '1'", "object.metadata.labels['a'] > 1"], {}),
    "undefined": ([DEPLOYMENTS], ["object.spec.nope == 1", "has(object.metadata.nope)"], {}),
    "int-or-string": ([DEPLOYMENTS], ["object.spec.strategy.rollingUpdate.maxSurge == 1"], {}),
    "quantity": ([DEPLOYMENTS], [f"{CONTAINER}.resources.limits['cpu'] == '1'"], {}),
    "times": ([DEPLOYMENTS], ["object.metadata.creationTimestamp == 'now'"], {}),
    "old": ([DEPLOYMENTS], ["oldObject.spec.replicas == object.spec.paused"], {}),
    "lists": ([DEPLOYMENTS], ["object.spec.template.spec.containers.all(c, c.image > 1 && c.namespace == '')"], {}),
    "request-resource": ([DEPLOYMENTS], ["authorizer.requestResource.check('get').allowed()"], {}),
    "several-kinds": ([PODS, DEPLOYMENTS], ["object.spec.replicas > 1"], {}),
    "unknown-kind": ([on("nopes")], ["object.spec.replicas > '1'"], {}),
    "any-kind": ([on("*")], ["object.spec.replicas > '1'"], {}),
    "subresource": ([on("deployments/scale")], ["object.spec.replicas > '1'"], {}),
    "recursive": ([on("customresourcedefinitions", "apiextensions.k8s.io")], ["object.spec.group == 1"], {}),
    "variables": (
        [DEPLOYMENTS],
        ["variables.n > '1'", "variables.spec.nope == 1", "variables.bad == 1"],
        {
            "variables": [
                {"name": "n", "expression": "object.spec.replicas"},
                {"name": "spec", "expression": "object.spec"},
                {"name": "bad", "expression": "object.spec.nope"},
            ]
        },
    ),
    "params": (
        [DEPLOYMENTS],
        ["params.data.x > 1", "params.nope == 1"],
        {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}},
    ),
    "unknown-params": (
        [DEPLOYMENTS],
        ["params.data.x > 1", "object.spec.replicas == 'x'"],
        {"paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"}},
    ),
}


async def type_checking(server: Server) -> list[Any]:
    for name, (rules, expressions, more) in CHECKED.items():
        validations = [{"expression": one, "messageExpression": "'x' + object.metadata.name"} for one in expressions]
        spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations, **more}
        answer = await server.ask("POST", POLICIES, {"metadata": {"name": f"checked-{name}"}, "spec": spec})
        assert answer.status == 201, (name, answer)
    return [await checked(server, f"checked-{name}") for name in CHECKED]


async def checked(server: Server, name: str) -> Any:
    async with asyncio.timeout(60):
        while True:
            policy = (await server.ask("GET", f"{POLICIES}/{name}")).body
            if "typeChecking" in policy.get("status", {}):
                managers = sorted(entry["manager"] for entry in policy["metadata"]["managedFields"])
                return name, policy["status"], managers[-1:]
            await asyncio.sleep(0.1)


STORIES = (type_checking,)
