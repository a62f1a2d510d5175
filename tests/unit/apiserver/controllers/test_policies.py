"""The status of validating policies: what type checking finds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.controllers.policies import PolicyStatusController
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]
API_VERSION = "admissionregistration.k8s.io/v1"
POLICY = GroupVersionKind.of(API_VERSION, "ValidatingAdmissionPolicy")
DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}


class Checked:
    """A cluster whose policies are checked."""

    def __init__(self, cluster: LogicalCluster) -> None:
        self.cluster = cluster
        self.controller = PolicyStatusController(cluster)

    async def warnings(self, rule: Object, *validations: Object, **spec: Any) -> list[Object]:
        """What the status of such a policy says."""
        constraints = {"resourceRules": [rule]}
        created = await self.cluster.api.create(
            {
                "apiVersion": API_VERSION,
                "kind": POLICY.kind,
                "metadata": {"generateName": "p-"},
                "spec": {"matchConstraints": constraints, "validations": list(validations), **spec},
            }
        )
        await self.controller.idle()
        policy = await self.cluster.api.get(POLICY, created["metadata"]["name"])
        assert policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
        found: list[Object] = policy["status"]["typeChecking"].get("expressionWarnings", [])
        return found


@pytest.fixture
async def checked() -> AsyncIterator[Checked]:
    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        found = Checked(cluster)
        yield found
        found.controller.close()
        await cluster.webhook_client.close()


async def test_expressions_that_fit_have_no_warnings(checked: Checked) -> None:
    validation = {"expression": "object.spec.replicas > 1 && object.metadata.?labels['a'].orValue('') == 'b'"}
    assert await checked.warnings(DEPLOYMENTS, validation) == []


async def test_confused_types_are_told_with_the_kind_and_the_place(checked: Checked) -> None:
    validation = {
        "expression": "object.spec.replicas > '1'",
        "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas",
    }
    first, second = await checked.warnings(DEPLOYMENTS, validation)
    assert first == {
        "fieldRef": "spec.validations[0].expression",
        "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to "
        "'(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
    }
    assert second["fieldRef"] == "spec.validations[0].messageExpression"
    assert "found no matching overload for '_+_' applied to '(string, int)'" in second["warning"]


async def test_fields_that_custom_kinds_lack_are_told(checked: Checked) -> None:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
    }
    await checked.cluster.api.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "crontabs.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"kind": "CronTab", "plural": "crontabs"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
    )
    rule = {**DEPLOYMENTS, "apiGroups": ["example.com"], "resources": ["crontabs"]}
    fine = {"expression": "object.spec.replicas > 1 && size(object.metadata.labels) > 0"}
    (warning,) = await checked.warnings(rule, fine, {"expression": "object.spec.maxRetries < 10"})
    assert warning["fieldRef"] == "spec.validations[1].expression"
    assert "undefined field 'maxRetries'" in warning["warning"]


async def test_variables_and_parameters_have_types_too(checked: Checked) -> None:
    variables = [{"name": "n", "expression": "object.spec.replicas"}]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    validations = [{"expression": "variables.n > '1'"}, {"expression": "params.data.x > 1"}]
    first, second = await checked.warnings(DEPLOYMENTS, *validations, variables=variables, paramKind=kind)
    assert "applied to '(int, string)'" in first["warning"]
    assert "applied to '(string, int)'" in second["warning"]


@pytest.mark.parametrize("rule", [{"resources": ["*"]}, {"apiGroups": ["*"]}, {"resources": ["deployments/scale"]}])
async def test_nothing_is_checked_for_kinds_that_are_not_named(checked: Checked, rule: Object) -> None:
    assert await checked.warnings({**DEPLOYMENTS, **rule}, {"expression": "object.nope == 1"}) == []


async def test_kinds_that_contain_themselves_are_checked_as_far_as_they_do_not(checked: Checked) -> None:
    rule = {**DEPLOYMENTS, "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
    (warning,) = await checked.warnings(rule, {"expression": "object.spec.group == 1"})
    assert "applied to '(string, int)'" in warning["warning"]
