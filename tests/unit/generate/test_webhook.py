"""Webhook manifests: what is declared, and nothing that the server would assume anyway."""

from __future__ import annotations

import base64
from typing import Any

from msgspec import field

from kapstan.generate.webhook import ClientConfig, conversion_patches, crd_conversion, webhook_configurations
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.webhook.declaration import Admission, Conversion, convert, declared, defaulter, validator


class Spec(Model):
    size: int | None = None


@resource(group="test.kapstan.dev", version="v1")
class Gate(Resource):
    spec: Spec = field(default_factory=Spec)


def former_gate() -> type[Resource]:
    @resource(group="test.kapstan.dev", version="v1beta1", storage=False)
    class Gate(Resource):
        spec: Spec = field(default_factory=Spec)

    return Gate


@defaulter(Gate)
def default(gate: Gate) -> None: ...


@validator(Gate, on={"delete", "create"})
def validate(new: Gate | None, old: Gate | None) -> None: ...


@validator(
    GroupVersionKind("", "v1", "Pod"),
    failure_policy="Ignore",
    timeout_seconds=3,
    match_policy="Exact",
    namespace_selector={"matchLabels": {"a": "b"}},
    object_selector={},
    match_conditions=(("no-leases", "request.resource.resource != 'leases'"),),
    subresources=("status",),
)
def validate_pod(new: Any, old: Any) -> None: ...


def admission(function: Any) -> Admission:
    found = declared(function)
    assert isinstance(found, Admission)
    return found


def test_a_declared_webhook_is_configured_as_controller_gen_would() -> None:
    mutating, validating = webhook_configurations([admission(validate), admission(default)])
    assert mutating == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mutating-webhook-configuration"},
        "webhooks": [
            {
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {
                        "name": "webhook-service",
                        "namespace": "system",
                        "path": "/mutate-test-kapstan-dev-v1-gate",
                    }
                },
                "failurePolicy": "Fail",
                "name": "mgate-v1.test.kapstan.dev",
                "rules": [
                    {
                        "apiGroups": ["test.kapstan.dev"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["gates"],
                    }
                ],
                "sideEffects": "None",
            }
        ],
    }
    assert validating["webhooks"][0]["rules"][0]["operations"] == ["CREATE", "DELETE"]


def test_everything_else_that_is_said_is_written() -> None:
    (configuration,) = webhook_configurations([admission(validate_pod), admission(validate)])
    gates, pods = configuration["webhooks"]
    assert gates["name"] < pods["name"]
    assert pods["failurePolicy"] == "Ignore"
    assert pods["timeoutSeconds"] == 3
    assert pods["matchPolicy"] == "Exact"
    assert pods["namespaceSelector"] == {"matchLabels": {"a": "b"}}
    assert pods["objectSelector"] == {}
    assert pods["matchConditions"] == [{"name": "no-leases", "expression": "request.resource.resource != 'leases'"}]
    assert pods["rules"][0]["resources"] == ["pods", "pods/status"]
    assert pods["rules"][0]["apiGroups"] == [""]


def test_a_server_outside_of_the_cluster_is_reached_by_its_url_and_trusted_by_its_authority() -> None:
    client = ClientConfig(url="https://127.0.0.1:9443", ca_bundle=b"PEM")
    (configuration,) = webhook_configurations([admission(default)], client, prefix="test-")
    assert configuration["metadata"]["name"] == "test-mutating-webhook-configuration"
    assert configuration["webhooks"][0]["clientConfig"] == {
        "url": "https://127.0.0.1:9443/mutate-test-kapstan-dev-v1-gate",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_a_kind_with_conversions_has_one_patch_however_many_there_are() -> None:
    former = former_gate()

    @convert(former, Gate)
    def up(old: Any) -> Gate:
        return Gate()

    @convert(Gate, former)
    def down(new: Gate) -> Any:
        return former()

    conversions = [found for one in (up, down) if isinstance(found := declared(one), Conversion)]
    patches = conversion_patches(conversions)
    assert list(patches) == ["gates"]
    assert patches["gates"]["metadata"] == {"name": "gates.test.kapstan.dev"}
    assert patches["gates"]["spec"]["conversion"] == crd_conversion()
    assert crd_conversion(ClientConfig(port=8443))["webhook"]["clientConfig"]["service"]["port"] == 8443
    assert crd_conversion()["webhook"]["conversionReviewVersions"] == ["v1"]
