"""Admission: the same writes to both servers, the same answers, and the same questions to webhooks."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from tests.integration.apiserver.auth.conftest import normal

from kapstan.machinery.pki import CertificateAuthority, Usage, new_ca

if TYPE_CHECKING:
    from tests.integration.apiserver.auth.conftest import Both, Server

pytestmark = pytest.mark.real

Object = dict[str, Any]
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
CORE = "/api/v1/namespaces"
APPS = "/apis/apps/v1/namespaces"
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def patch(*operations: Object) -> Object:
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded(json.dumps(operations).encode())}


LABEL = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
ANSWERS: dict[str, Object] = {
    "allow": {"allowed": True},
    "deny": {"allowed": False},
    "deny-message": {"allowed": False, "status": {"message": "because", "code": 418, "reason": "Teapot"}},
    "deny-reason": {"allowed": False, "status": {"reason": "Nope"}},
    "deny-success": {"allowed": False, "status": {"message": "m", "code": 200, "status": "Success"}},
    "deny-causes": {
        "allowed": False,
        "status": {
            "message": "m",
            "code": 422,
            "reason": "Invalid",
            "details": {"causes": [{"field": "spec.x", "message": "bad", "reason": "FieldValueInvalid"}]},
        },
    },
    "patch": patch(LABEL),
    "patch-unfitting": patch({"op": "remove", "path": "/nope/x"}),
    "patch-of-type": {**patch(LABEL), "patchType": "Merge"},
    "patch-without-type": {"allowed": True, "patch": encoded(b"[]")},
    "type-without-patch": {"allowed": True, "patchType": "JSONPatch"},
    "warnings": {"allowed": True, "warnings": ["w1", "w1", 'w "two"', "line\nfeed", "x" * 300]},
}

SCALE_TO_NINE = patch({"op": "replace", "path": "/spec/replicas", "value": 9})


class Webhooks:
    """Answers by path: `/<server>/<answer>`."""

    def __init__(self, port: int, ca: CertificateAuthority) -> None:
        self.port = port
        self.ca_bundle = encoded(ca.cert_pem)
        self.asked: dict[str, list[Object]] = {"embedded": [], "real": []}

    def hook(self, server: Server, answer: str, **fields: Any) -> Object:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        return {
            "name": "x.example.com",
            "clientConfig": {
                "url": f"https://127.0.0.1:{self.port}/{server.name}/{answer}",
                "caBundle": self.ca_bundle,
            },
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "timeoutSeconds": 2 if answer == "slow" else 20,
            **fields,
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        _, server, answer = request.path.split("/")
        review = await request.json()
        self.asked[server].append(review)
        metadata = (review["request"]["object"] or {}).get("metadata", {})
        if metadata.get("name") == "probe":
            return web.json_response({**REVIEW, "response": {"uid": review["request"]["uid"], "allowed": False}})
        match answer:
            case "500":
                return web.Response(status=500, text="boom")
            case "404":
                return web.Response(status=404, text="nothing")
            case "status":
                return web.json_response({"kind": "Status", "message": "go away", "code": 403}, status=403)
            case "empty":
                return web.Response(text="", content_type="application/json")
            case "absent":
                return web.json_response(REVIEW)
            case "slow":
                await asyncio.sleep(30)
        decision = SCALE_TO_NINE if answer == "scale-to-nine" else ANSWERS[answer]
        response = {"uid": review["request"]["uid"], **decision}
        return web.json_response({**REVIEW, "response": response})


@pytest.fixture
async def webhooks(tmp_path: Path) -> AsyncIterator[Webhooks]:
    ca = new_ca("webhooks")
    pair = ca.issue("webhook", usages=[Usage.SERVER], ip_addresses=["127.0.0.1"])
    (tmp_path / "tls.pem").write_bytes(pair.cert_pem + pair.key_pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls.pem")
    application = web.Application()
    found: list[Webhooks] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        response = await found[0].handle(request)
        response.force_close()  # a connection that is kept open would outlive the test
        return response

    application.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    found.append(Webhooks(runner.addresses[0][1], ca))
    yield found[0]
    await runner.cleanup()


async def configured(server: Server, mutating: bool, namespace: str, hook: Object) -> str:
    """Register a webhook for one namespace, and wait until the server uses it; the configuration's path."""
    kind = "mutatingwebhookconfigurations" if mutating else "validatingwebhookconfigurations"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    body = {"metadata": {"generateName": "w-"}, "webhooks": [{"namespaceSelector": selector, **hook}]}
    created = await server.create(f"{CONFIGURATIONS}/{kind}", body)
    probe = {"metadata": {"name": "probe"}}
    await server.until_not("POST", f"{CORE}/{namespace}/configmaps?dryRun=All", 201, body=probe)
    return f"{CONFIGURATIONS}/{kind}/{created['metadata']['name']}"


async def new_namespace(both: Both, name: str) -> str:
    for server in both:
        await server.ask("POST", CORE, {"metadata": {"name": name}})
    return name


@pytest.mark.parametrize(
    "answer",
    [*ANSWERS, "500", "404", "status", "empty", "absent", "slow"],
)
@pytest.mark.parametrize("mutating", [True, False])
async def test_answers_of_webhooks(both: Both, webhooks: Webhooks, mutating: bool, answer: str) -> None:
    namespace = await new_namespace(both, f"hooks-{answer}-{str(mutating).lower()}")
    paths = [await configured(server, mutating, namespace, webhooks.hook(server, answer)) for server in both]
    found = [await server.ask("POST", f"{CORE}/{namespace}/configmaps", {"metadata": {"name": "c"}}) for server in both]
    for server, path in zip(both, paths, strict=True):
        await server.ask("DELETE", path)
    ours, theirs = (json.dumps(normal(one)).replace("/embedded/", "/real/") for one in found)
    assert json.loads(ours) == json.loads(theirs), f"\nembedded: {ours}\nreal:     {theirs}"


@pytest.mark.parametrize(
    "client",
    [
        {"url": "https://127.0.0.1:1/x"},
        {"service": {"namespace": "default", "name": "nosvc", "path": "/x"}},
        {"service": {"namespace": "default", "name": "nosvc", "port": 8443}},
    ],
)
async def test_webhooks_that_cannot_be_reached(both: Both, webhooks: Webhooks, client: Object) -> None:
    namespace = await new_namespace(both, f"unreachable-{len(str(client))}")
    found = []
    for server in both:
        hook = webhooks.hook(server, "allow", clientConfig={**client, "caBundle": webhooks.ca_bundle})
        path = await configured(server, False, namespace, hook)
        found.append(await server.ask("POST", f"{CORE}/{namespace}/configmaps", {"metadata": {"name": "c"}}))
        await server.ask("DELETE", path)
    assert normal(found[0]) == normal(found[1])
    assert found[0].status == 500


CONDITIONS = [
    "object.nope == 1",
    "object.metadata.nope == 1",
    "oldObject.metadata.name == 'x'",
    "request.subResource == ''",
    "request.name == 'c'",
    "request.userInfo.uid == ''",
    "request.options.kind == 'CreateOptions'",
    "'x' in object.data",
    "has(object.data)",
    "object.metadata.labels['a'] == 'b'",
    "object.metadata.?labels['a'].orValue('none') == 'none'",
    "[1, 2].all(x, x > object.nope)",
    "1 / 0 == 1",
    "authorizer.group('apps').resource('deployments').check('create').allowed()",
    "authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('get').allowed()",
    "authorizer.serviceAccount('default', 'a:b').group('').resource('pods').check('get').allowed()",
    "authorizer.requestResource.check('create').allowed()",
    "authorizer.requestResource.name('x').check('create').reason() == ''",
]


@pytest.mark.parametrize("expression", CONDITIONS)
async def test_match_conditions(both: Both, webhooks: Webhooks, expression: str) -> None:
    """Called, not called or refused: alike. The webhook refuses what it is asked about."""
    namespace = await new_namespace(both, f"conditions-{CONDITIONS.index(expression)}")
    conditions = [
        {"name": "probe", "expression": "object.metadata.name != 'probe' || true"},
        {"name": "asked", "expression": f"object.metadata.name == 'probe' || ({expression})"},
    ]
    found = []
    for server in both:
        path = await configured(server, False, namespace, webhooks.hook(server, "deny", matchConditions=conditions))
        found.append(await server.ask("POST", f"{CORE}/{namespace}/configmaps", {"metadata": {"name": "c"}}))
        await server.ask("DELETE", path)
    assert normal(found[0]) == normal(found[1]), f"{expression}\nembedded: {found[0]}\nreal:     {found[1]}"


async def test_reviews_are_the_same_documents(both: Both, webhooks: Webhooks) -> None:
    """What a webhook is asked about creates, updates, patches, deletes, subresources and rehearsals."""
    namespace = await new_namespace(both, "reviews")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    for server in both:
        paths = [
            await configured(server, mutating, namespace, webhooks.hook(server, "allow", rules=[rule]))
            for mutating in (True, False)
        ]
        webhooks.asked[server.name].clear()
        await _write_a_lot(server, namespace)
        for path in paths:
            await server.ask("DELETE", path)
    ours, theirs = (_comparable(webhooks.asked[name]) for name in ("embedded", "real"))
    assert [_title(one) for one in ours] == [_title(one) for one in theirs]
    for mine, real in zip(ours, theirs, strict=True):
        assert mine == real, f"{_title(real)}\nembedded: {mine}\nreal:     {real}"


async def _write_a_lot(server: Server, namespace: str) -> None:
    maps, one = f"{CORE}/{namespace}/configmaps", f"{CORE}/{namespace}/configmaps/a"
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    await server.ask("POST", maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    await server.ask("PUT", one, {"metadata": {"name": "a"}, "data": {"x": "2"}})
    await server.ask("PATCH", f"{one}?fieldManager=me&dryRun=All", {"data": {"x": "3"}}, content_type=merge)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"x": "3"}}
    await server.ask("PATCH", f"{maps}/b?fieldManager=me&force=true", applied, content_type=apply)
    await server.ask("PATCH", f"{maps}/b?fieldManager=me", {**applied, "data": {"x": "4"}}, content_type=apply)
    await server.ask("DELETE", one, {"propagationPolicy": "Background", "gracePeriodSeconds": 5})
    await server.ask("DELETE", f"{maps}?fieldSelector=metadata.name%3Db")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployments = f"{APPS}/{namespace}/deployments"
    await server.ask("POST", f"{deployments}?fieldValidation=Strict", {"metadata": {"name": "d"}, "spec": spec})
    await server.ask("PATCH", f"{deployments}/d/status", {"status": {"replicas": 3}}, content_type=merge)
    scale = (await server.ask("GET", f"{deployments}/d/scale")).body
    await server.ask("PUT", f"{deployments}/d/scale", {**scale, "spec": {"replicas": 4}})
    await server.ask("PATCH", f"{deployments}/d/scale", {"spec": {"replicas": 5}}, content_type=merge)
    await server.ask("POST", f"{CORE}/{namespace}/serviceaccounts", {"metadata": {"name": "robot"}})
    await server.ask("POST", f"{CORE}/{namespace}/serviceaccounts/robot/token", {"spec": {}})


def _title(review: Object) -> tuple[str, ...]:
    request = review["request"]
    return request["operation"], request["kind"]["kind"], request.get("subResource", ""), request.get("name", "")


def _comparable(reviews: list[Object]) -> list[Object]:
    """Without probes, uids, times and the user's certificate."""
    found = []
    for review in reviews:
        request = review["request"]
        if request.get("name") in ("probe", "kube-root-ca.crt", "default"):
            continue
        request.pop("userInfo")
        found.append(normal(review))
    return found


async def test_webhooks_may_change_a_scale(both: Both, webhooks: Webhooks) -> None:
    """They see a Scale, not its parent, and what they make of it is what counts."""
    namespace = await new_namespace(both, "scaled")
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments/scale"]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 1}
    found = []
    for server in both:
        deployments = f"{APPS}/{namespace}/deployments"
        created = await server.create(deployments, {"metadata": {"name": "d"}, "spec": spec})
        probing = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        hook = webhooks.hook(server, "scale-to-nine", rules=[rule, probing])
        path = await configured(server, True, namespace, hook)
        change, merge = {"spec": {"replicas": 5}}, "application/merge-patch+json"
        scaled = await server.ask("PATCH", f"{deployments}/d/scale?fieldManager=me", change, content_type=merge)
        await server.ask("DELETE", path)
        parent = (await server.ask("GET", f"{deployments}/d")).body
        managers = [{**entry, "time": "time" in entry} for entry in parent["metadata"]["managedFields"]]
        assert parent["metadata"]["uid"] == created["metadata"]["uid"]
        found.append((normal(scaled), parent["spec"]["replicas"], managers))
    assert found[0] == found[1]
    assert found[0][1] == 9


# --- Plugins ---


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{CORE}/missing/configmaps", {"metadata": {"name": "c"}}),
        (f"{CORE}/default/pods", {"metadata": {"name": "p"}, "spec": {"priorityClassName": "nothing"}}),
        (f"{CORE}/default/pods", {"metadata": {"name": "p"}, "spec": {"priority": 7}}),
    ],
)
async def test_refused_writes(both: Both, path: str, body: Object) -> None:
    for server in both:
        await server.ask("POST", f"{CORE}/default/serviceaccounts", {"metadata": {"name": "default"}})
    if "spec" in body:
        body = {**body, "spec": {"containers": [{"name": "c", "image": "i"}], **body["spec"]}}
    answer = await both.same("POST", path, body)
    assert answer.status in (403, 404)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_immortal_namespaces(both: Both, name: str) -> None:
    assert (await both.same("DELETE", f"{CORE}/{name}")).status == 403


async def test_a_terminating_namespace(both: Both) -> None:
    for server in both:
        await server.create(CORE, {"metadata": {"name": "terminating"}})
        held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        await server.create(f"{CORE}/terminating/configmaps", held)
        await server.ask("DELETE", f"{CORE}/terminating")
        path = f"{CORE}/terminating/configmaps?dryRun=All"
        await server.until("POST", path, 403, body={"metadata": {"name": "c"}})
    await both.same("POST", f"{CORE}/terminating/configmaps", {"metadata": {"name": "c"}})
    await both.same("POST", f"{CORE}/terminating/configmaps", {"metadata": {"generateName": "c-"}})
    for server in both:
        release, merge = {"metadata": {"finalizers": None}}, "application/merge-patch+json"
        await server.ask("PATCH", f"{CORE}/terminating/configmaps/held", release, content_type=merge)


async def test_what_plugins_add(both: Both) -> None:
    """The real server of tests runs without the plugin ServiceAccount."""
    for server in both:
        node = await server.create("/api/v1/nodes", {"metadata": {"name": "n1"}})
        assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        await server.ask("POST", f"{CORE}/default/serviceaccounts", {"metadata": {"name": "default"}})
    pods = []
    for server in both:
        body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = (await server.create(f"{CORE}/default/pods", body))["spec"]
        pods.append({field: spec.get(field) for field in ("tolerations", "priority", "preemptionPolicy")})
    assert pods[0] == pods[1]
