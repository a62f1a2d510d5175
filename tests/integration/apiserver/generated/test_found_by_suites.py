"""What test suites of other projects found: small cases of it, the same on both servers."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from kapstan.machinery.pki import new_ca

if TYPE_CHECKING:
    from tests.integration.apiserver.generated.conftest import Lab

pytestmark = pytest.mark.real

Object = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MERGE, APPLY = ({"Content-Type": f"application/{name}"} for name in ("merge-patch+json", "apply-patch+yaml"))
VALID = base64.b64encode(new_ca("hook").cert_pem).decode()
NO_PEM = base64.b64encode(b"no certificate").decode()


SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "inner": {"type": "object", "properties": {"a": {"type": "string"}}},
                "nullable": {"type": "string", "nullable": True},
                "number": {"type": "integer", "default": 7},
                "list": {"type": "array", "items": {"type": "string"}},
            },
        }
    },
}


def definition(group: str, plural: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"plural": plural, "kind": plural.capitalize()}
    return {
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations or {}},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


def webhook(ca_bundle: str) -> Object:
    config = {"service": {"namespace": "default", "name": "hook"}, "caBundle": ca_bundle}
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}


def test_a_rehearsed_create_may_have_a_version(lab: Lab) -> None:
    name = lab.new_name()
    lab.agree("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": name, "resourceVersion": "1"}})
    lab.agree("POST", CONFIG_MAPS, {"metadata": {"name": name, "resourceVersion": "1"}})


@pytest.mark.parametrize("annotation", ["", "https://example.com/1", "unapproved", "good"])
def test_groups_of_kubernetes_need_an_approval(lab: Lab, annotation: str) -> None:
    annotations = {"api-approved.kubernetes.io": annotation} if annotation else {}
    lab.agree("POST", f"{DEFINITIONS}?dryRun=All", definition("made.k8s.io", lab.new_name(), annotations))


def test_unknown_fields_are_preserved_by_schemas_only(lab: Lab) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    made = definition(lab.group, "a", versions=versions, preserveUnknownFields=True)
    lab.agree("POST", f"{DEFINITIONS}?dryRun=All", made)


def test_bundles_of_conversion_webhooks(lab: Lab) -> None:
    """One that is no certificate may be created, and keeps the definition from being served."""
    lab.agree("POST", f"{DEFINITIONS}?dryRun=All", definition(lab.group, "bundles", conversion=webhook(NO_PEM)))
    plural = lab.new_name()
    lab.ask("POST", DEFINITIONS, definition(lab.group, plural))
    lab.wait_for(f"/apis/{lab.group}/v1/{plural}")
    path = f"{DEFINITIONS}/{plural}.{lab.group}"
    ours, theirs = lab.ask("PATCH", path, {"spec": {"conversion": webhook(NO_PEM)}}, MERGE)
    assert (ours["status"], theirs["status"]) == (422, 422)
    said, expected = (answer["body"]["details"]["causes"] for answer in (ours, theirs))
    assert [cause["field"] for cause in said] == [cause["field"] for cause in expected]
    assert said[0]["message"].rpartition(": ")[2] == expected[0]["message"].rpartition(": ")[2]


def test_null_where_it_is_sent_and_where_it_is_applied(lab: Lab) -> None:
    plural, name = lab.new_name(), lab.new_name()
    lab.ask("POST", DEFINITIONS, definition(lab.group, plural))
    lab.wait_for(f"/apis/{lab.group}/v1/{plural}")
    path = f"/apis/{lab.group}/v1/namespaces/default/{plural}"
    head = {"apiVersion": f"{lab.group}/v1", "kind": plural.capitalize(), "metadata": {"name": name}}
    nulls = {"inner": None, "nullable": None, "number": None, "list": None}
    lab.agree("POST", path, {**head, "spec": nulls})
    for field in nulls:
        lab.agree("PATCH", f"{path}/{name}?fieldManager=me", {**head, "spec": {field: None}}, APPLY)
    lab.agree("PATCH", f"{path}/{name}?fieldManager=me", {**head, "spec": {"list": [None]}}, APPLY)
    lab.agree("PATCH", f"{path}/{name}?fieldManager=me", {**head, "spec": {"inner": {"a": None}}}, APPLY)
    lab.agree("GET", f"{path}/{name}")


def test_an_empty_list_clears_who_manages_what(lab: Lab) -> None:
    name = lab.new_name()
    lab.agree("POST", f"{CONFIG_MAPS}?fieldManager=one", {"metadata": {"name": name}, "data": {"a": "1"}})
    cleared = {"metadata": {"name": name, "managedFields": []}, "data": {"a": "1"}}
    lab.agree("PUT", f"{CONFIG_MAPS}/{name}", cleared)
    lab.agree("GET", f"{CONFIG_MAPS}/{name}")


def test_who_writes_a_daemon_set_owns_the_count_of_its_templates(lab: Lab) -> None:
    path, name = "/apis/apps/v1/namespaces/default/daemonsets", lab.new_name()
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}
    lab.agree("POST", f"{path}?fieldManager=one", made)
    lab.agree("PUT", f"{path}/{name}?fieldManager=two", made)
    lab.agree("PATCH", f"{path}/{name}?fieldManager=three", {"spec": {"minReadySeconds": 3}}, MERGE)
    applied = lab.new_name()
    lab.agree("PATCH", f"{path}/{applied}?fieldManager=four", {**made, "metadata": {"name": applied}}, APPLY)


def test_the_status_of_an_api_service_leaves_its_metadata(lab: Lab) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    service = {"namespace": "default", "name": "x"}
    spec = {
        "group": f"{lab.new_name()}.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 1,
        "service": service,
        "insecureSkipTLSVerify": True,
    }
    name = f"v1.{spec['group']}"
    lab.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    ours, theirs = lab.ask("PATCH", f"{path}/{name}/status", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert (ours["status"], theirs["status"]) == (200, 200)
    assert [answer["body"]["metadata"].get("labels") for answer in (ours, theirs)] == [None, None]
    lab.ask("DELETE", f"{path}/{name}")
