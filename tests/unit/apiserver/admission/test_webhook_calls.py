"""Webhooks that answer, refuse, patch and fail: what the client of the API sees of it.

The messages are those of kube-apiserver 1.36.
"""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from kapstan.apiserver.strategy.builtin import BuiltinStrategy
from kapstan.machinery.errors import APIError, BadRequest, InternalError
from kapstan.machinery.pki import new_ca

if TYPE_CHECKING:
    from tests.unit.apiserver.admission.conftest import Cluster, WebhookServer

Object = dict[str, Any]
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def patch(*operations: Object) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


STATUS = {"apiVersion": "v1", "kind": "Status"}
LABEL = patch({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}})


@pytest.mark.parametrize("mutating", [True, False])
@pytest.mark.parametrize(
    ("answer", "code", "reason", "message"),
    [
        ({"allowed": False}, 400, "", " without explanation"),
        (
            {"allowed": False, "status": {"message": "because", "code": 418, "reason": "Teapot"}},
            418,
            "Teapot",
            ": because",
        ),
        ({"allowed": False, "status": {"reason": "Nope"}}, 400, "Nope", ": Nope"),
        ({"allowed": False, "status": {"message": "m", "code": 200, "status": "Success"}}, 400, "", ": m"),
        ({"allowed": False, "status": {"message": "m", "code": 422, "reason": "Invalid"}}, 422, "Invalid", ": m"),
    ],
)
async def test_a_refusal_is_the_webhooks_own_status(
    cluster: Cluster,
    webhooks: WebhookServer,
    mutating: bool,
    answer: Object,
    code: int,
    reason: str,
    message: str,
) -> None:
    webhooks.answers["x"] = lambda _: answer
    await cluster.webhook(mutating, "w", webhooks.hook("x"))
    with pytest.raises(APIError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    status = caught.value.status
    assert (status.code, status.reason, status.status) == (code, reason, "Failure")
    assert status.message == f'admission webhook "x.example.com" denied the request{message}'
    assert await cluster.api.list(cluster.kind("v1", "ConfigMap"), "default") == []


async def test_details_of_a_refusal_reach_the_client(cluster: Cluster, webhooks: WebhookServer) -> None:
    cause = {"field": "spec.x", "message": "bad", "reason": "FieldValueInvalid"}
    status = {"message": "m", "code": 422, "reason": "Invalid", "details": {"causes": [cause]}}
    webhooks.answers["x"] = lambda _: {"allowed": False, "status": status}
    await cluster.webhook(False, "w", webhooks.hook("x"))
    with pytest.raises(APIError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert [cause.field for cause in caught.value.causes] == ["spec.x"]


INVALID = "received invalid webhook response: "
CALL = "failed to call webhook: "


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda _: web.Response(status=500, text="boom"),
            f'{CALL}an error on the server ("boom") has prevented the request from succeeding',
        ),
        (
            lambda _: web.Response(status=404, text="nothing here"),
            f"{CALL}the server could not find the requested resource",
        ),
        (
            lambda _: web.json_response({**STATUS, "message": "go away", "code": 403}, status=403),
            f"{CALL}go away",
        ),
        (lambda _: web.json_response({"message": "go away"}, status=403), f"{CALL}unknown"),
        (
            lambda _: web.Response(text="", content_type="application/json"),
            f"{CALL}0-length response with status code: 200 and content type: application/json; charset=utf-8",
        ),
        (lambda _: web.json_response({}), f"{INVALID}webhook response was absent"),
        (lambda _: web.json_response(REVIEW), f"{INVALID}webhook response was absent"),
        (
            lambda _: {"allowed": True, "patch": "W10="},
            f"{INVALID}webhook returned response.patch but not response.patchType",
        ),
        (
            lambda _: {"allowed": True, "patchType": "JSONPatch"},
            f"{INVALID}webhook returned response.patchType but not response.patch",
        ),
        (lambda _: {"allowed": True, "patch": LABEL, "patchType": "Merge"}, 'unsupported patch type "Merge"'),
        (
            lambda _: {"allowed": True, "patch": LABEL, "patchType": ""},
            f'{INVALID}webhook returned invalid response.patchType of ""',
        ),
        (
            lambda request: web.json_response({"response": {"uid": request["uid"], "allowed": True}}),
            f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
    ],
)
async def test_a_useless_answer_is_told_as_kubernetes_tells_it(
    cluster: Cluster, webhooks: WebhookServer, answer: Any, message: str
) -> None:
    webhooks.answers["x"] = answer
    await cluster.webhook(True, "w", webhooks.hook("x"))
    with pytest.raises(InternalError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    failure = f'failed calling webhook "x.example.com": {message}'
    assert str(caught.value) == f"Internal error occurred: {failure}"
    assert [cause.message for cause in caught.value.causes] == [failure]


@pytest.mark.parametrize(
    ("answer", "beginning"),
    [
        (lambda _: web.Response(text="hello"), f"{CALL}couldn't get version/kind; json parse error: "),
        (lambda _: web.json_response({**REVIEW, "response": {"uid": "zzz"}}), f"{INVALID}expected response.uid="),
        (lambda _: {"allowed": True, "patch": "!!", "patchType": "JSONPatch"}, CALL),
        (lambda _: {"allowed": True, "warnings": 7}, CALL),
        (lambda _: {"allowed": "yes"}, CALL),
        (lambda _: web.json_response([REVIEW]), CALL),
        (
            lambda _: {"allowed": True, "patch": base64.b64encode(b"hello").decode(), "patchType": "JSONPatch"},
            "received undecodable patch in webhook response: ",
        ),
    ],
)
async def test_other_useless_answers(cluster: Cluster, webhooks: WebhookServer, answer: Any, beginning: str) -> None:
    webhooks.answers["x"] = answer
    await cluster.webhook(True, "w", webhooks.hook("x"))
    with pytest.raises(InternalError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert str(caught.value).startswith(f'Internal error occurred: failed calling webhook "x.example.com": {beginning}')


@pytest.mark.parametrize(
    ("returned", "field"), [({"patch": "W10="}, "patch"), ({"patchType": "JSONPatch"}, "patchType")]
)
async def test_a_validating_webhook_may_not_patch(
    cluster: Cluster, webhooks: WebhookServer, returned: Object, field: str
) -> None:
    webhooks.answers["x"] = lambda _: {"allowed": True, **returned}
    await cluster.webhook(False, "w", webhooks.hook("x"))
    with pytest.raises(InternalError, match=rf"validating webhook may not return response.{field}$"):
        await cluster.create("v1", "ConfigMap", "c", "default")


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        (
            [{"op": "remove", "path": "/nope/x"}],
            'remove operation does not apply: doc is missing path: "/nope/x": missing value',
        ),
        (
            [{"op": "replace", "path": "/kind", "value": "Secret"}],
            'the patch changes kind from "ConfigMap" to "Secret"',
        ),
        ([{"op": "remove", "path": "/metadata"}], "the patch does not leave an object with metadata"),
    ],
)
async def test_a_patch_must_fit(
    cluster: Cluster, webhooks: WebhookServer, operations: list[Object], message: str
) -> None:
    webhooks.answers["x"] = lambda _: {"allowed": True, "patch": patch(*operations), "patchType": "JSONPatch"}
    await cluster.webhook(True, "w", webhooks.hook("x"))
    with pytest.raises(InternalError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert str(caught.value) == f"Internal error occurred: {message}"


async def test_a_delete_cannot_be_patched(cluster: Cluster, webhooks: WebhookServer) -> None:
    await cluster.create("v1", "ConfigMap", "c", "default")
    webhooks.answers["x"] = lambda _: {"allowed": True, "patch": LABEL, "patchType": "JSONPatch"}
    await cluster.webhook(True, "w", webhooks.hook("x"))
    with pytest.raises(
        InternalError, match="attempted to modify the object, which is not supported for this operation"
    ):
        await cluster.api.delete(cluster.kind("v1", "ConfigMap"), "c", "default")


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (
            {"url": "https://127.0.0.1:1/x"},
            'Post "https://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
        ),
        (
            {"service": {"namespace": "default", "name": "nosvc", "path": "/x"}},
            'Post "https://nosvc.default.svc:443/x?timeout=5s": service "nosvc" not found',
        ),
    ],
)
async def test_who_cannot_be_reached(cluster: Cluster, webhooks: WebhookServer, client: Object, message: str) -> None:
    await cluster.webhook(False, "w", webhooks.hook("x", clientConfig={**client, "caBundle": webhooks.ca_bundle}))
    with pytest.raises(InternalError) as caught:
        await cluster.create("v1", "ConfigMap", "c", "default")
    failure = f'failed calling webhook "x.example.com": failed to call webhook: {message}'
    assert str(caught.value) == f"Internal error occurred: {failure}"


@pytest.mark.parametrize("bundle", ["other", "none"])
async def test_a_certificate_of_somebody_else_is_not_trusted(
    cluster: Cluster, webhooks: WebhookServer, bundle: str
) -> None:
    ca_bundle = base64.b64encode(new_ca("other").cert_pem).decode() if bundle == "other" else ""
    client = {"url": webhooks.url("x"), "caBundle": ca_bundle}
    await cluster.webhook(False, "w", webhooks.hook("x", clientConfig=client))
    with pytest.raises(
        InternalError, match=r"tls: failed to verify certificate: x509: certificate signed by unknown auth"
    ):
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.asked == []


async def test_a_certificate_may_be_trusted_without_its_authority(
    cluster: Cluster, webhooks: WebhookServer, tmp_path: Path
) -> None:
    """Go's envtest puts the webhook's own certificate into the bundle."""
    ca_bundle = base64.b64encode((tmp_path / "tls.crt").read_bytes()).decode()
    client = {"url": webhooks.url("x"), "caBundle": ca_bundle}
    await cluster.webhook(False, "w", webhooks.hook("x", clientConfig=client))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["x"]


async def test_a_name_that_the_certificate_does_not_have(cluster: Cluster, webhooks: WebhookServer) -> None:
    cluster.admission.services.redirect("default", "other", "127.0.0.1", webhooks.port)
    client = {"service": {"namespace": "default", "name": "other"}, "caBundle": webhooks.ca_bundle}
    await cluster.webhook(False, "w", webhooks.hook("x", clientConfig=client))
    with pytest.raises(InternalError, match=r"x509: certificate is not valid for other.default.svc"):
        await cluster.create("v1", "ConfigMap", "c", "default")


async def test_a_service_is_reached_where_it_was_redirected(cluster: Cluster, webhooks: WebhookServer) -> None:
    cluster.admission.services.redirect("default", "hook", "127.0.0.1", webhooks.port)
    client = {"service": {"namespace": "default", "name": "hook", "path": "/x"}, "caBundle": webhooks.ca_bundle}
    await cluster.webhook(False, "w", webhooks.hook("x", clientConfig=client))
    await cluster.create("v1", "ConfigMap", "c", "default")
    assert webhooks.called == ["x"]


async def test_a_service_is_reached_at_its_endpoints(cluster: Cluster) -> None:
    await cluster.create("v1", "Service", "hook", "default", spec={"ports": [{"port": 443, "name": "https"}]})
    endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    await cluster.create(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "hook-1",
        "default",
        metadata={"labels": {"kubernetes.io/service-name": "hook"}},
        addressType="IPv4",
        endpoints=[{"addresses": ["10.0.0.9"], "conditions": {"ready": False}}, endpoint],
        ports=[{"name": "https", "port": 9443}],
    )
    assert cluster.admission.services("default", "hook", 443) == ("10.0.0.1", 9443)


async def test_a_webhook_that_restarted_is_found_again(cluster: Cluster, webhooks: WebhookServer) -> None:
    """The connection that was kept open is of no use any more; that is not the writer's business."""
    await cluster.webhook(False, "w", webhooks.hook("x"))
    await cluster.create("v1", "ConfigMap", "a", "default")
    webhooks.drop_connections()
    await cluster.create("v1", "ConfigMap", "b", "default")
    assert webhooks.called == ["x", "x"]


@pytest.mark.parametrize("mutating", [True, False])
async def test_failures_can_be_ignored(
    cluster: Cluster, webhooks: WebhookServer, mutating: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hook = webhooks.hook("x", clientConfig={"url": "https://127.0.0.1:1/x"}, failurePolicy="Ignore")
    await cluster.webhook(mutating, "w", hook)
    with caplog.at_level(logging.WARNING):
        await cluster.create("v1", "ConfigMap", "c", "default")
    assert "failurePolicy is Ignore" in caplog.text


async def test_a_refusal_cannot_be_ignored(cluster: Cluster, webhooks: WebhookServer) -> None:
    webhooks.answers["x"] = lambda _: {"allowed": False}
    await cluster.webhook(False, "w", webhooks.hook("x", failurePolicy="Ignore"))
    with pytest.raises(APIError, match="denied the request"):
        await cluster.create("v1", "ConfigMap", "c", "default")


async def test_a_rehearsal_asks_only_those_without_side_effects(
    cluster: Cluster, webhooks: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API server refuses new webhooks with side effects, but may hold old ones."""
    await cluster.webhook(False, "w", webhooks.hook("x", sideEffects="NoneOnDryRun"))
    await cluster.create("v1", "ConfigMap", "c", "default", dry_run=True)
    assert webhooks.asked[0][1]["request"]["dryRun"] is True
    monkeypatch.setattr(BuiltinStrategy, "validate", lambda *_: ())
    await cluster.webhook(False, "v", webhooks.hook("y", sideEffects="Some"))
    with pytest.raises(BadRequest, match=r'admission webhook "y.example.com" does not support dry run'):
        await cluster.create("v1", "ConfigMap", "c", "default", dry_run=True)
