"""Admission policies on a cluster: what they refuse and change, and when they do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kapstan.apiserver.admission.expressions import Budget, OutOfBudget, compile_expression
from kapstan.apiserver.admission.policy import definition, validating
from kapstan.apiserver.admission.policy.activation import Evaluator, Variables
from kapstan.apiserver.admission.policy.compiler import PolicyCompiler
from kapstan.apiserver.schema.cel.environment import Environment
from kapstan.apiserver.schema.cel.values import EvaluationError
from kapstan.machinery.errors import APIError, Invalid
from kapstan.machinery.gvk import GroupVersionKind

if TYPE_CHECKING:
    from tests.unit.apiserver.admission.conftest import Cluster, WebhookServer

Object = dict[str, Any]
REGISTRATION = "admissionregistration.k8s.io/v1"
RULE: Object = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


async def bind(cluster: Cluster, kind: str, name: str, binding: Object | None = None, **spec: Any) -> None:
    """A policy and its binding."""
    constraints = spec.pop("matchConstraints", {"resourceRules": [RULE]})
    await cluster.create(REGISTRATION, f"{kind}AdmissionPolicy", name, spec={"matchConstraints": constraints, **spec})
    await cluster.create(
        REGISTRATION, f"{kind}AdmissionPolicyBinding", name, spec={"policyName": name, **(binding or {})}
    )


async def refuse(cluster: Cluster, name: str, expression: str, **spec: Any) -> None:
    """A policy that refuses ConfigMaps of which the expression is false."""
    validations = [{"expression": expression, "message": "no"}]
    await bind(cluster, "Validating", name, {"validationActions": ["Deny"]}, validations=validations, **spec)


async def change(cluster: Cluster, name: str, expression: str, again: bool = False, **spec: Any) -> None:
    """A policy that applies what the expression makes."""
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    policy = "IfNeeded" if again else "Never"
    await bind(cluster, "Mutating", name, mutations=[mutation], reinvocationPolicy=policy, **spec)


async def config_map(cluster: Cluster, name: str = "c", **data: str) -> Object:
    return await cluster.create("v1", "ConfigMap", name, "default", data=data)


async def test_a_policy_refuses_with_its_message(cluster: Cluster) -> None:
    await refuse(cluster, "p", "object.data.x == '1'")
    await config_map(cluster, "fine", x="1")
    with pytest.raises(Invalid) as caught:
        await config_map(cluster, x="2")
    status = caught.value.status
    by = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
    assert status.message == f'configmaps "c" is forbidden: {by}'
    assert (status.code, status.reason) == (422, "Invalid")
    assert [cause.message for cause in caught.value.causes] == [by]


async def test_a_policy_without_a_binding_does_nothing(cluster: Cluster) -> None:
    validations = [{"expression": "false"}]
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": validations}
    await cluster.create(REGISTRATION, "ValidatingAdmissionPolicy", "p", spec=spec)
    await config_map(cluster)


async def test_changes_to_policies_count_at_once(cluster: Cluster) -> None:
    await refuse(cluster, "p", "false")
    with pytest.raises(Invalid):
        await config_map(cluster)
    gvk = GroupVersionKind.of(REGISTRATION, "ValidatingAdmissionPolicy")
    await cluster.api.patch(gvk, "p", "", {"spec": {"validations": [{"expression": "true"}]}})
    await config_map(cluster)
    await cluster.api.patch(gvk, "p", "", {"spec": {"validations": [{"expression": "false"}]}})
    await cluster.api.delete(GroupVersionKind.of(REGISTRATION, "ValidatingAdmissionPolicyBinding"), "p")
    await config_map(cluster, "d")


async def test_a_policy_is_compiled_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    create = validating.Validator.__init__

    def counted(self: validating.Validator, spec: Any) -> None:
        made.append(spec)
        create(self, spec)

    monkeypatch.setattr(validating.Validator, "__init__", counted)
    await refuse(cluster, "p", "true")
    for number in range(3):
        await config_map(cluster, f"c{number}")
    await refuse(cluster, "other", "true")
    await config_map(cluster)
    assert len(made) == 2


async def test_clusters_without_policies_parse_nothing(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("nothing is there to parse")

    monkeypatch.setattr(definition, "Binding", fail)
    await config_map(cluster)


async def test_policies_do_not_apply_to_policies_and_bindings(cluster: Cluster) -> None:
    everything = {**RULE, "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    await refuse(cluster, "p", "false", matchConstraints={"resourceRules": [everything]})
    with pytest.raises(Invalid):
        await config_map(cluster)
    await cluster.api.delete(GroupVersionKind.of(REGISTRATION, "ValidatingAdmissionPolicyBinding"), "p")
    await cluster.api.delete(GroupVersionKind.of(REGISTRATION, "ValidatingAdmissionPolicy"), "p")
    await config_map(cluster)


async def test_warnings_let_the_write_pass(cluster: Cluster) -> None:
    """The header is compared with a real server's elsewhere; here, nobody is refused."""
    validations = [{"expression": "false"}]
    await bind(cluster, "Validating", "p", {"validationActions": ["Warn", "Audit"]}, validations=validations)
    await config_map(cluster)


def test_expressions_share_a_budget() -> None:
    """Each may take its share; together they run out before the end."""
    loop = compile_expression(Environment({}), "lists.range(10).all(x, x >= 0)", "bool")
    budget = Budget(100)
    assert budget.evaluate(loop, {}) is True
    with pytest.raises(OutOfBudget, match="running out of cost budget"):
        budget.evaluate(loop, {})


async def test_others_have_their_turn_after_what_took_long() -> None:
    turns: list[str] = []
    evaluator = Evaluator({}, {}, 1_000_000)
    for size in ("10", "20000"):
        asyncio.get_running_loop().call_soon(turns.append, size)
        expression = compile_expression(Environment({}), f"lists.range({size}).all(x, x >= 0)", "bool")
        assert await evaluator.evaluate(expression) is True
        assert turns == ([] if size == "10" else ["10", "20000"])


async def test_others_have_their_turns_while_variables_are_worked_out(cluster: Cluster) -> None:
    """What is found, and what it costs, is what it would be without them."""
    long = "lists.range(10000).all(x, x >= 0)"
    names = [f"v{number}" for number in range(5)]
    variables = [{"name": name, "expression": long} for name in names]
    await refuse(cluster, "p", " && ".join(f"!variables.{name}" for name in names), variables=variables)
    await refuse(cluster, "q", " && ".join(f"variables.{name}" for name in names), variables=variables)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    with pytest.raises(Invalid, match="'p' with binding"):
        await config_map(cluster)
    counting.cancel()
    assert turns > 10


async def test_what_is_begun_anew_is_paid_once() -> None:
    compiler = PolicyCompiler()
    variables = {name: compiler.variable(name, "lists.range(10000).all(x, x >= 0)") for name in "ab"}
    evaluator = Evaluator({}, variables, 10_000_000)
    both = compiler.condition("variables.a && variables.b")
    plain = Budget(10_000_000, Variables(variables, {}, 10_000_000))
    assert await evaluator.evaluate(both) is True
    assert plain.evaluate(both, {"variables": plain._spender}) is True
    assert evaluator.budget.left == plain.left
    left = evaluator.budget.left
    assert await evaluator.evaluate(both) is True
    assert left - evaluator.budget.left < 100, "variables are known by now"


async def test_no_variable_is_evaluated_beyond_the_budget() -> None:
    """One expression may ask for any number of variables."""
    compiler = PolicyCompiler()
    variables = {name: compiler.variable(name, "lists.range(100).all(x, x >= 0)") for name in "abc"}
    evaluator = Evaluator({}, variables, 200)
    with pytest.raises(OutOfBudget):
        await evaluator.evaluate(compiler.condition("variables.a && variables.b && variables.c"))
    asked = evaluator.bindings["variables"]
    assert asked.find("a") == (True, True)
    with pytest.raises(EvaluationError, match="out of cost budget"):
        asked.find("b")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("dyn(variables)[[1]] == 1", "no such key"),
        ("[1] in dyn(variables)", "failed expression"),
        ("'%.999999999f'.format([1.0]) == ''", "exceeds maximum allowed precision"),
        ("'%.0000000000000001f'.format([1.0]) == ''", "exceeds maximum allowed precision"),
    ],
)
async def test_odd_expressions_are_refused_and_nothing_else_happens(
    cluster: Cluster, expression: str, why: str
) -> None:
    with pytest.raises(Invalid, match=why):
        spec = {"validations": [{"expression": expression}], "variables": [{"name": "v", "expression": "1"}]}
        await bind(cluster, "Validating", "p", {"validationActions": ["Deny"]}, **spec)
        await config_map(cluster)


async def test_mutations_are_merged_into_the_object(cluster: Cluster) -> None:
    await change(cluster, "p", "Object{metadata: Object.metadata{labels: {'n': object.data.x}}, data: {'y': '2'}}")
    created = await config_map(cluster, x="1")
    assert created["data"] == {"x": "1", "y": "2"}
    assert created["metadata"]["labels"] == {"n": "1"}


async def test_what_suits_no_schema_is_refused(cluster: Cluster) -> None:
    await change(cluster, "p", "Object{nope: 1}")
    with pytest.raises(APIError) as caught:
        await config_map(cluster)
    why = "error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema"
    assert caught.value.status.message == f"policy 'p' with binding 'p' denied request: {why}"
    assert (caught.value.status.code, caught.value.status.reason) == (403, "Invalid")


async def test_policies_come_by_name_each_seeing_the_others_changes(cluster: Cluster) -> None:
    await change(cluster, "b", "Object{data: {'b': object.?data.?a.orValue('-') + 'b'}}")
    await change(cluster, "a", "Object{data: {'a': object.?data.?b.orValue('-') + 'a'}}")
    assert (await config_map(cluster))["data"] == {"a": "-a", "b": "-ab"}


async def test_policies_that_asked_for_it_see_what_came_after_them(cluster: Cluster) -> None:
    await change(cluster, "a", "Object{data: {'a': object.?data.?b.orValue('-')}}", again=True)
    await change(cluster, "b", "Object{data: {'b': 'late'}}")
    assert (await config_map(cluster))["data"] == {"a": "late", "b": "late"}


async def test_policies_come_before_webhooks_and_again_after_them(cluster: Cluster, webhooks: WebhookServer) -> None:
    await change(cluster, "p", "Object{data: {'policy': object.?data.?hook.orValue('first')}}", again=True)
    webhooks.answers["hook"] = lambda request: {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEvaG9vayIsInZhbHVlIjoic2VlbiJ9XQ==",
    }
    await cluster.webhook(True, "w", webhooks.hook("hook"))
    assert (await config_map(cluster))["data"] == {"policy": "seen", "hook": "seen"}
    ((_, review),) = webhooks.asked
    assert review["request"]["object"]["data"] == {"policy": "first"}


async def test_custom_kinds_are_seen_in_the_version_that_rules_name(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    names = {"kind": "Widget", "plural": "widgets"}
    definition = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions}
    api_version = "apiextensions.k8s.io/v1"
    await cluster.create(api_version, "CustomResourceDefinition", "widgets.example.com", spec=definition)
    rule = {**RULE, "apiGroups": ["example.com"], "resources": ["widgets"]}
    constraints = {"resourceRules": [rule]}
    await change(cluster, "p", "Object{seen: object.apiVersion}", matchConstraints=constraints)
    created = await cluster.create("example.com/v2", "Widget", "w", "default")
    assert (created["apiVersion"], created["seen"]) == ("example.com/v2", "example.com/v1")


# --- Disabled ---


async def test_policies_that_are_disabled_are_not_asked(cluster: Cluster) -> None:
    await refuse(cluster, "p", "false")
    await change(cluster, "m", "Object{data: {'x': 'changed'}}")
    assert cluster.admission.disable(["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"]) == []
    assert (await config_map(cluster, x="given"))["data"] == {"x": "given"}


async def test_webhooks_that_are_disabled_are_not_called_and_the_others_are(
    cluster: Cluster, webhooks: WebhookServer
) -> None:
    await cluster.webhook(True, "m", webhooks.hook("mutating"))
    await cluster.webhook(False, "v", webhooks.hook("validating"))
    assert cluster.admission.disable(["MutatingAdmissionWebhook", "NoSuchPlugin"]) == ["NoSuchPlugin"]
    await config_map(cluster)
    assert webhooks.called == ["validating"]
