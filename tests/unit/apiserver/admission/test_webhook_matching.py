"""Which webhooks are called for a write, in which order, and what they are asked."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kapstan.apiserver.admission.webhook.evaluation import _Memory
from kapstan.apiserver.registry import verbs
from kapstan.apiserver.request import LOOPBACK, DeleteOptions, Request, UserInfo
from kapstan.machinery.errors import APIError, Forbidden, NotFound
from kapstan.machinery.pki import new_ca

if TYPE_CHECKING:
    from tests.unit.apiserver.admission.conftest import Cluster, WebhookServer

Object = dict[str, Any]


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE", "UPDATE", "DELETE"), **fields: Any) -> Object:
    found = {"apiGroups": [""], "apiVersions": ["v1"], "operations": list(operations), "resources": list(resources)}
    return found | fields


def patching(*operations: Object) -> Callable[[Object], Object]:
    """Allows, with a JSON patch."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patch": patch, "patchType": "JSONPatch"}


async def test_configurations_go_by_name_and_webhooks_by_place(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(True, "b", webhooks.hook("b1"), webhooks.hook("b2"))
    await cluster.webhook(True, "a", webhooks.hook("a2"), webhooks.hook("a1"))
    await cluster.webhook(False, "0", webhooks.hook("last"))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["a2", "a1", "b1", "b2", "last"]


async def test_each_sees_what_those_before_it_did(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["one"] = patching({"op": "add", "path": "/data", "value": {"by": "one"}})
    webhooks.answers["two"] = patching({"op": "add", "path": "/data/and", "value": "two"})
    await cluster.webhook(True, "w", webhooks.hook("one"), webhooks.hook("two"))
    await cluster.webhook(False, "w", webhooks.hook("check"))
    created = await cluster.create("v1", "ConfigMap", "c", "default")
    assert created["data"] == {"by": "one", "and": "two"}
    seen = {path: review["request"]["object"].get("data") for path, review in webhooks.asked}
    assert seen == {"one": None, "two": {"by": "one"}, "check": {"by": "one", "and": "two"}}


async def test_changes_to_configurations_hold_at_once(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.create("v1", "ConfigMap", "c1", "default")
    await cluster.webhook(False, "w", webhooks.hook("x"))
    await cluster.create("v1", "ConfigMap", "c2", "default")
    kind = cluster.kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    await cluster.api.patch(kind, "w", "", {"webhooks": [webhooks.hook("y")]})
    await cluster.create("v1", "ConfigMap", "c3", "default")
    await cluster.api.delete(kind, "w")
    await cluster.create("v1", "ConfigMap", "c4", "default")
    assert webhooks.called == ["x", "y"]


@pytest.mark.parametrize(
    ("matching", "called"),
    [
        (rule("configmaps"), True),
        (rule("*"), True),
        (rule("*/*"), True),
        (rule("configmaps/*"), True),
        (rule("configmaps/status"), False),
        (rule("*/status"), False),
        (rule("secrets"), False),
        (rule("configmaps", operations=("UPDATE",)), False),
        (rule("configmaps", operations=("*",)), True),
        (rule("configmaps", apiGroups=["apps"]), False),
        (rule("configmaps", apiGroups=["*"], apiVersions=["*"]), True),
        (rule("configmaps", apiVersions=["v2"]), False),
        (rule("configmaps", scope="Namespaced"), True),
        (rule("configmaps", scope="Cluster"), False),
    ],
)
async def test_rules(cluster: Cluster, webhooks: WebhookServer, matching: Object, called: bool) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x", rules=[matching]))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert bool(webhooks.called) is called


@pytest.mark.parametrize(("scope", "called"), [("Cluster", True), ("Namespaced", False), ("*", True)])
async def test_a_namespace_is_of_the_cluster(
    cluster: Cluster, webhooks: WebhookServer, scope: str, called: bool
) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x", rules=[rule("namespaces", scope=scope)]))
    await cluster.create("v1", "Namespace", "n")
    assert bool(webhooks.called) is called


async def test_subresources_are_asked_for_by_name(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.create("v1", "Namespace", "n")
    await cluster.webhook(False, "w", webhooks.hook("status", rules=[rule("namespaces/status")]))
    kind = cluster.kind("v1", "Namespace")
    await cluster.api.patch(kind, "n", "", {"metadata": {"labels": {"a": "b"}}})
    assert webhooks.called == []
    await cluster.api.patch(kind, "n", "", {"status": {"phase": "Active", "conditions": []}}, subresource="status")
    assert webhooks.called == ["status"]
    assert webhooks.asked[0][1]["request"]["subResource"] == "status"


async def test_namespaces_are_selected_by_their_labels(cluster: Cluster, webhooks: WebhookServer) -> None:
    selector = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}
    hook = webhooks.hook("x", namespaceSelector=selector, rules=[rule("configmaps", "namespaces", "nodes")])
    await cluster.webhook(False, "w", hook)
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == []
    await cluster.create("v1", "Namespace", "prod", metadata={"labels": {"env": "prod"}})
    assert webhooks.called == ["x"], "a new namespace is selected by the labels that it is to have"
    await cluster.create("v1", "ConfigMap", "c", "prod")
    assert webhooks.called == ["x", "x"]
    await cluster.create("v1", "Node", "n")
    assert webhooks.called == ["x", "x", "x"], "what is in no namespace is not kept out by a namespace selector"


async def test_objects_are_selected_by_labels_old_or_new(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x", objectSelector={"matchLabels": {"a": "b"}}))
    kind = cluster.kind("v1", "ConfigMap")
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == []
    await cluster.api.patch(kind, "c", "default", {"metadata": {"labels": {"a": "b"}}})
    assert len(webhooks.called) == 1
    await cluster.api.patch(kind, "c", "default", {"metadata": {"labels": {"a": None}}})
    assert len(webhooks.called) == 2, "leaving the selection is seen, too"
    await cluster.api.patch(kind, "c", "default", {"data": {"x": "y"}})
    assert len(webhooks.called) == 2


async def test_webhooks_never_decide_about_webhooks(cluster: Cluster, webhooks: WebhookServer) -> None:
    everything = rule("*/*", apiGroups=["*"], apiVersions=["*"], operations=("*",))
    webhooks.answers["no"] = lambda _: {"allowed": False}
    for mutating in (True, False):
        await cluster.webhook(mutating, "w", webhooks.hook("no", rules=[everything]))
    kind = cluster.kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
    await cluster.api.delete(kind, "w")
    assert webhooks.called == []


async def test_a_missing_namespace_is_told_before_any_webhook(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(True, "w", webhooks.hook("x", namespaceSelector={"matchLabels": {"a": "b"}}))
    with pytest.raises(NotFound, match='namespaces "missing" not found'):
        await cluster.create("v1", "ConfigMap", "c", "missing")


async def test_equivalent_versions_are_matched_and_converted(cluster: Cluster, webhooks: WebhookServer) -> None:
    """Events are served in two groups, from one collection."""
    old_name = rule("events", apiGroups=["events.k8s.io"])
    webhooks.answers["same"] = patching({"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}})
    await cluster.webhook(True, "w", webhooks.hook("same", rules=[old_name]))
    await cluster.webhook(False, "w", webhooks.hook("exact", rules=[old_name], matchPolicy="Exact"))
    event = {"involvedObject": {"namespace": "default"}, "reason": "R", "type": "Normal"}
    created = await cluster.create("v1", "Event", "e", "default", **event)
    assert webhooks.called == ["same"]
    request = webhooks.asked[0][1]["request"]
    assert request["kind"] == {"group": "events.k8s.io", "version": "v1", "kind": "Event"}
    assert request["resource"] == {"group": "events.k8s.io", "version": "v1", "resource": "events"}
    assert request["requestKind"] == {"group": "", "version": "v1", "kind": "Event"}
    assert request["requestResource"] == {"group": "", "version": "v1", "resource": "events"}
    assert request["object"]["apiVersion"] == "events.k8s.io/v1"
    assert (created["apiVersion"], created["metadata"]["labels"]) == ("v1", {"seen": "yes"})


# --- Match conditions ---


@pytest.mark.parametrize(
    ("expressions", "called"),
    [
        (["true"], True),
        (["false"], False),
        (["object.metadata.name == 'c'"], True),
        (["object.metadata.name == 'c'", "request.operation == 'DELETE'"], False),
        (["request.userInfo.username == 'system:apiserver'", "'system:masters' in request.userInfo.groups"], True),
        (["request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'"], True),
        (["has(object.data) && object.data.?x.orValue('') == '1'"], True),
        (["oldObject == null"], True),
        (["!request.dryRun && request.namespace == 'default'"], True),
        (["authorizer.group('').resource('pods').namespace('default').check('list').allowed()"], True),
        (["authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('list').allowed()"], False),
        (["authorizer.path('/metrics').check('get').allowed()"], True),
        (["object.nope == 1", "false"], False),
    ],
)
@pytest.mark.parametrize("mutating", [True, False])
async def test_conditions_decide_whether_to_call(
    cluster: Cluster, webhooks: WebhookServer, mutating: bool, expressions: list[str], called: bool
) -> None:
    conditions = [{"name": f"c{number}", "expression": one} for number, one in enumerate(expressions)]
    await cluster.webhook(mutating, "w", webhooks.hook("x", matchConditions=conditions))
    await cluster.create("v1", "ConfigMap", "c", "default", data={"x": "1"})
    assert bool(webhooks.called) is called


async def test_a_condition_without_value_refuses_the_write(cluster: Cluster, webhooks: WebhookServer) -> None:
    conditions = [{"name": "a", "expression": "object.nope == 1"}]
    await cluster.webhook(False, "w", webhooks.hook("x", matchConditions=conditions))
    with pytest.raises(Forbidden) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    problem = "expression 'object.nope == 1' resulted in error: no such key: nope"
    assert str(caught.value) == f'configmaps "c" is forbidden: {problem}'


async def test_a_condition_without_value_can_be_ignored(cluster: Cluster, webhooks: WebhookServer) -> None:
    """Then it is as good as false."""
    conditions = [{"name": "a", "expression": "object.nope == 1"}]
    await cluster.webhook(False, "w", webhooks.hook("x", matchConditions=conditions, failurePolicy="Ignore"))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == []


async def test_conditions_see_what_earlier_webhooks_did(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["one"] = patching({"op": "add", "path": "/data", "value": {"by": "one"}})
    conditions = [{"name": "a", "expression": "has(object.data)"}]
    await cluster.webhook(True, "w", webhooks.hook("one"), webhooks.hook("two", matchConditions=conditions))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["one", "two"]


# --- Reinvocation ---


async def test_who_asked_for_it_is_called_again_after_later_changes(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["changes"] = patching({"op": "add", "path": "/data", "value": {"a": "1"}})
    await cluster.webhook(
        True,
        "w",
        webhooks.hook("once"),
        webhooks.hook("again", reinvocationPolicy="IfNeeded"),
        webhooks.hook("changes"),
        webhooks.hook("after", reinvocationPolicy="IfNeeded"),
    )
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["once", "again", "changes", "after", "again"]


async def test_ones_own_change_is_no_reason_to_be_called_again(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["changes"] = patching({"op": "add", "path": "/data", "value": {"a": "1"}})
    await cluster.webhook(True, "w", webhooks.hook("changes", reinvocationPolicy="IfNeeded"))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["changes"]


async def test_a_patch_that_changes_nothing_calls_nobody_again(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["idle"] = patching({"op": "test", "path": "/kind", "value": "ConfigMap"})
    await cluster.webhook(True, "w", webhooks.hook("again", reinvocationPolicy="IfNeeded"), webhooks.hook("idle"))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["again", "idle"]


async def test_builtin_plugins_run_again_after_webhooks(cluster: Cluster, webhooks: WebhookServer) -> None:
    """A container that a webhook adds gets its token mounted, and who asked sees that."""
    sidecar = {"name": "sidecar", "image": "s"}
    webhooks.answers["inject"] = patching({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    pods = [rule("pods")]
    await cluster.webhook(True, "w", webhooks.hook("inject", rules=pods, reinvocationPolicy="IfNeeded"))
    webhooks.answers["inject"] = _once(webhooks.answers["inject"])
    pod = await cluster.create("v1", "Pod", "p", "default", spec={"containers": [{"name": "c", "image": "i"}]})
    mounts = [[mount["mountPath"] for mount in one["volumeMounts"]] for one in pod["spec"]["containers"]]
    assert mounts == [["/var/run/secrets/kubernetes.io/serviceaccount"]] * 2
    assert len(pod["spec"]["volumes"]) == 1
    assert webhooks.called == ["inject", "inject"], "the plugins changed what it had left"


def _once(answer: Any) -> Any:
    calls: list[Object] = []

    def decide(request: Object) -> Object:
        calls.append(request)
        found: Object = answer(request) if len(calls) == 1 else {"allowed": True}
        return found

    return decide


# --- What is asked ---


async def test_the_review_of_a_create(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x"))
    alice = UserInfo("alice", "uid-1", ("devs",), {"scope": ("a", "b")})
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    created = await cluster.api.as_user(alice, "agent").create(document)
    review = webhooks.asked[0][1]
    request = review["request"]
    assert list(review) == ["kind", "apiVersion", "request"]
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert list(request) == [
        "uid", "kind", "resource", "requestKind", "requestResource", "name", "namespace", "operation", "userInfo",
        "object", "oldObject", "dryRun", "options",
    ]  # fmt: skip
    assert request["kind"] == request["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["name"], request["namespace"], request["operation"]) == ("c", "default", "CREATE")
    assert request["userInfo"] == {
        "username": "alice",
        "uid": "uid-1",
        "groups": ["devs"],
        "extra": {"scope": ["a", "b"]},
    }
    assert request["object"] == {
        key: value if key != "metadata" else {k: v for k, v in value.items() if k != "resourceVersion"}
        for key, value in created.items()
    }
    assert (request["oldObject"], request["dryRun"]) == (None, False)
    assert request["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}


async def test_the_review_of_a_delete(cluster: Cluster, webhooks: WebhookServer) -> None:
    created = await cluster.create("v1", "ConfigMap", "c", "default")
    await cluster.webhook(False, "w", webhooks.hook("x"))
    options = DeleteOptions(propagation_policy="Background", grace_period_seconds=5)
    await cluster.api.delete(cluster.kind("v1", "ConfigMap"), "c", "default", options=options)
    request = webhooks.asked[0][1]["request"]
    assert (request["operation"], request["object"], request["oldObject"]) == ("DELETE", None, created)
    assert request["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "gracePeriodSeconds": 5,
        "propagationPolicy": "Background",
    }


async def test_a_generated_name_is_known_to_validation_only(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(True, "w", webhooks.hook("early"))
    await cluster.webhook(False, "w", webhooks.hook("late"))
    created = await cluster.create("v1", "ConfigMap", "", "default", metadata={"generateName": "c-", "name": ""})
    names = {path: review["request"].get("name") for path, review in webhooks.asked}
    assert names == {"early": None, "late": created["metadata"]["name"]}


async def test_a_namespace_is_in_itself(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x", rules=[rule("namespaces")]))
    await cluster.create("v1", "Namespace", "n")
    request = webhooks.asked[0][1]["request"]
    assert (request["name"], request["namespace"]) == ("n", "n")


async def test_old_review_versions_are_spoken(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["x"] = lambda _: {"allowed": True, "uid": "", "patch": "W10="}
    await cluster.webhook(True, "w", webhooks.hook("x", admissionReviewVersions=["v9", "v1beta1", "v1"]))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.asked[0][1]["apiVersion"] == "admission.k8s.io/v1beta1"


# --- Parallel ---


async def test_validating_webhooks_are_asked_at_once(cluster: Cluster, webhooks: WebhookServer) -> None:
    """Neither answers before both were asked; one after the other, this would never end."""
    webhooks.gate = asyncio.Barrier(2).wait
    await cluster.webhook(False, "w", webhooks.hook("x"), webhooks.hook("y"))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert sorted(webhooks.called) == ["x", "y"]


async def test_the_answer_waits_for_all(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["no"] = lambda _: {"allowed": False}
    await cluster.webhook(False, "w", webhooks.hook("no"), webhooks.hook("yes"))
    with pytest.raises(APIError, match=r'admission webhook "no.example.com" denied the request'):
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert sorted(webhooks.called) == ["no", "yes"]


async def test_warnings_reach_the_client_once(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["x"] = lambda _: {"allowed": True, "warnings": ["careful", "careful", "now"]}
    await cluster.webhook(False, "w", webhooks.hook("x"))
    request = Request(cluster.logical, LOOPBACK, "create", cluster.kind("v1", "ConfigMap"), namespace="default")
    await verbs.create(request, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert request.warnings == ["careful", "now"]


async def test_the_certificate_bundle_may_change(cluster: Cluster, webhooks: WebhookServer) -> None:
    """Contexts are remembered by bundle, not by webhook."""
    wrong = base64.b64encode(new_ca("other").cert_pem).decode()
    hook = webhooks.hook("x")
    await cluster.webhook(False, "w", hook | {"clientConfig": {**hook["clientConfig"], "caBundle": wrong}})
    with pytest.raises(APIError, match="unknown authority"):
        await cluster.create("v1", "ConfigMap", "c", "default")
    kind = cluster.kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    await cluster.api.patch(kind, "w", "", {"webhooks": [hook]})
    await cluster.create("v1", "ConfigMap", "c", "default")


def test_what_is_remembered_of_conditions_is_bounded_by_their_length() -> None:
    memory = _Memory(100)
    short = [f"'{number}' == 'x'" for number in range(20)]
    kept = [memory.compiled(one, params=False) for one in short]
    assert len(memory) == 100 // len(short[-1])
    assert memory.compiled(short[-1], params=False) is kept[-1]
    assert memory.compiled(short[0], params=False) is not kept[0], "forgotten, and compiled again"
    long = f"'{'x' * 200}' == 'x'"
    assert memory.compiled(long, params=False).program is not None
    assert memory.compiled(short[0], params=False).program is not None
    assert 0 < len(memory) <= 100 // len(short[0])
