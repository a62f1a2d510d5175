"""Custom resources from definition to deletion."""

from __future__ import annotations

import asyncio
import base64
import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import ListOptions
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.errors import BadRequest, Conflict, Invalid, MethodNotAllowed, NotFound, UnsupportedMediaType
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.pki import new_ca

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
OLD_WIDGET = GroupVersionKind("example.com", "v1beta1", "Widget")

SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "colour": {"type": "string", "default": "red"},
                "replicas": {"type": "integer"},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "phase": {"type": "string"},
                "selector": {"type": "string"},
            },
        },
    },
}


def definition(**changes: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": copy.deepcopy(SCHEMA)},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.colour"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        ],
        **changes.pop("version", {}),
    }
    old = {**copy.deepcopy(version), "name": "v1beta1", "storage": False, "deprecated": True}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [version, old],
        **changes,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{spec['names']['plural']}.{spec['group']}"},
        "spec": spec,
    }


def widget(name: str = "a", **content: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **content.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1}, **content}


@pytest.fixture
async def widgets(api: API) -> API:
    await api.create(definition())
    return api


def conditions(crd: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {found["type"]: (found["status"], found["reason"]) for found in crd["status"]["conditions"]}


async def test_a_definition_is_established_before_the_next_request(api: API) -> None:
    created = await api.create(definition())
    assert created["spec"]["names"]["listKind"] == "WidgetList"
    assert created["spec"]["conversion"] == {"strategy": "None"}
    assert created["metadata"]["generation"] == 1
    stored = await api.get(CRD, "widgets.example.com")
    assert conditions(stored) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert stored["status"]["acceptedNames"] == stored["spec"]["names"]
    assert stored["status"]["storedVersions"] == ["v1"]
    assert await api.list(WIDGET, "default") == []


async def test_names_that_are_taken_are_not_accepted(widgets: API) -> None:
    names = {"plural": "gadgets", "kind": "Widget", "shortNames": ["wd"]}
    await widgets.create(definition(names=names))
    found = await widgets.get(CRD, "gadgets.example.com")
    assert conditions(found)["NamesAccepted"] == ("False", "ListKindConflict")
    assert conditions(found)["Established"] == ("False", "NotAccepted")
    with pytest.raises(NotFound):
        await widgets.list(GroupVersionKind("example.com", "v1", "Gadget"))


def webhook(ca_bundle: str) -> dict[str, Any]:
    config = {"service": {"namespace": "default", "name": "hook"}, "caBundle": ca_bundle}
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}


NO_PEM = base64.b64encode(b"no certificate").decode()


async def test_a_definition_with_an_invalid_bundle_is_not_established(api: API) -> None:
    await api.create(definition(conversion=webhook(NO_PEM)))
    found = await api.get(CRD, "widgets.example.com")
    assert conditions(found)["Established"] == ("False", "InvalidCABundle")
    found["spec"]["conversion"] = webhook(base64.b64encode(new_ca("hook").cert_pem).decode())
    await api.update(found)
    found = await api.get(CRD, "widgets.example.com")
    assert conditions(found)["Established"] == ("True", "InitialNamesAccepted")


async def test_an_established_definition_may_not_get_an_invalid_bundle(widgets: API) -> None:
    found = await widgets.get(CRD, "widgets.example.com")
    found["spec"]["conversion"] = webhook(NO_PEM)
    with pytest.raises(Invalid, match="unable to load root certificates: unable to parse bytes as PEM block"):
        await widgets.update(found)


@pytest.mark.parametrize(
    ("annotation", "condition"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", ("True", "ApprovedAnnotation")),
        ("unapproved, experimental", ("False", "UnapprovedAnnotation")),
    ],
)
async def test_groups_of_kubernetes_say_whether_they_are_approved(
    api: API, annotation: str, condition: tuple[str, str]
) -> None:
    made = definition(group="example.k8s.io")
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    await api.create(made)
    found = await api.get(CRD, made["metadata"]["name"])
    assert conditions(found)["KubernetesAPIApprovalPolicyConformant"] == condition


@pytest.mark.parametrize(("annotation", "type"), [(None, "Required value"), ("looks good", "Invalid value")])
async def test_groups_of_kubernetes_need_an_approval(api: API, annotation: str | None, type: str) -> None:
    made = definition(group="example.k8s.io")
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation} if annotation else {}
    with pytest.raises(Invalid, match=rf"metadata.annotations\[api-approved.kubernetes.io\]: {type}"):
        await api.create(made)


async def test_unknown_fields_are_preserved_by_schemas_only(api: API) -> None:
    with pytest.raises(Invalid, match=r"spec.preserveUnknownFields: Invalid value: true: cannot set to true"):
        await api.create(definition(preserveUnknownFields=True))


async def test_what_is_read_has_the_defaults_of_the_version_that_is_stored(widgets: API) -> None:
    """Those of the version that is asked for are for what comes in."""
    await widgets.create(widget())
    found = await widgets.get(CRD, "widgets.example.com")
    stored, served = (version["schema"]["openAPIV3Schema"]["properties"] for version in found["spec"]["versions"])
    stored["spec"]["properties"]["shape"] = {"type": "string", "default": "round"}
    for properties in (stored, served):
        properties["spec"]["properties"]["weight"] = {"type": "integer"}
    served["spec"]["properties"]["shape"] = {"type": "string"}
    served["spec"]["properties"]["weight"]["default"] = 5
    await widgets.update(found)
    read = await widgets.get(OLD_WIDGET, "a", "default")
    assert (read["spec"].get("shape"), read["spec"].get("weight")) == ("round", None)
    sent = await widgets.update({**read, "metadata": {**read["metadata"], "labels": {"a": "b"}}})
    assert sent["spec"]["weight"] == 5
    created = await widgets.create({**widget("b"), "apiVersion": "example.com/v1beta1"})
    assert created["spec"]["shape"] == "round"


async def test_null_is_refused_where_it_is_applied_and_dropped_where_it_is_sent(widgets: API) -> None:
    """Who applies says what there shall be; to clear a field, one leaves it out."""
    sent = await widgets.create(widget(spec={"size": 3, "replicas": None, "colour": None}))
    assert sent["spec"] == {"size": 3, "colour": "red"}
    applied = widget(spec={"size": 3, "replicas": None})
    with pytest.raises(Invalid, match=r'spec.replicas: Invalid value: "null"'):
        await widgets.apply(applied)


async def test_objects_are_defaulted_pruned_and_validated(widgets: API) -> None:
    created = await widgets.create(widget(spec={"size": 3, "unknown": 1}, other=2, status={"phase": "x"}))
    assert created["spec"] == {"size": 3, "colour": "red"}
    assert "other" not in created and "status" not in created
    assert created["metadata"]["generation"] == 1
    with pytest.raises(Invalid) as refused:
        await widgets.create(widget("b", spec={"size": 0}))
    assert [cause.field for cause in refused.value.causes] == ["spec.size"]
    with pytest.raises(Invalid, match=r"spec\.size: Required value"):
        await widgets.create(widget("b", spec={}))


async def test_generation_counts_what_is_wanted(widgets: API) -> None:
    created = await widgets.create(widget())
    labelled = await widgets.patch(WIDGET, "a", "default", {"metadata": {"labels": {"x": "y"}}})
    assert labelled["metadata"]["generation"] == 1
    changed = await widgets.patch(WIDGET, "a", "default", {"spec": {"size": 2}, "status": {"phase": "ignored"}})
    assert changed["metadata"]["generation"] == 2
    assert "status" not in changed
    assert created["metadata"]["uid"] == changed["metadata"]["uid"]


async def test_the_status_endpoint_changes_the_status_only(widgets: API) -> None:
    created = await widgets.create(widget())
    sent = {**created, "spec": {"size": 9}, "status": {"phase": "Ready"}}
    sent["metadata"] = {**created["metadata"], "labels": {"x": "y"}}
    updated = await widgets.update(sent, subresource="status")
    assert (updated["spec"], updated["status"]) == (created["spec"], {"phase": "Ready"})
    assert "labels" not in updated["metadata"]
    assert updated["metadata"]["generation"] == 1
    assert updated["metadata"]["managedFields"][-1]["subresource"] == "status"
    with pytest.raises(Invalid, match=r"status\.phase"):
        await widgets.patch(WIDGET, "a", "default", {"status": {"phase": 7}}, subresource="status")


async def test_updates_need_a_version(widgets: API) -> None:
    created = await widgets.create(widget())
    del created["metadata"]["resourceVersion"]
    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified for an update"):
        await widgets.update(created)


async def test_there_is_no_strategic_merge(widgets: API) -> None:
    await widgets.create(widget())
    with pytest.raises(UnsupportedMediaType):
        await widgets.patch(WIDGET, "a", "default", {}, type="application/strategic-merge-patch+json")


async def test_server_side_apply(widgets: API) -> None:
    applied = await widgets.apply(widget(spec={"size": 2}))
    assert applied["spec"] == {"size": 2, "colour": "red"}
    one: dict[str, Any] = {"type": "application/apply-patch+yaml", "field_manager": "other"}
    with pytest.raises(Conflict, match="Apply failed with 1 conflict"):
        await widgets.patch(WIDGET, "a", "default", widget(spec={"size": 3}), **one)
    forced = await widgets.patch(WIDGET, "a", "default", widget(spec={"size": 3}), force=True, **one)
    assert forced["spec"]["size"] == 3


async def test_versions_without_conversion_differ_in_name_only(widgets: API) -> None:
    await widgets.create(widget())
    old = await widgets.get(OLD_WIDGET, "a", "default")
    assert (old["apiVersion"], old["spec"]) == ("example.com/v1beta1", {"size": 1, "colour": "red"})
    await widgets.create({**widget("b"), "apiVersion": "example.com/v1beta1"})
    assert (await widgets.get(WIDGET, "b", "default"))["apiVersion"] == "example.com/v1"
    listed = await widgets.list(OLD_WIDGET, "default")
    assert {item["apiVersion"] for item in listed} == {"example.com/v1beta1"}


async def test_scale(widgets: API) -> None:
    await widgets.create(widget(spec={"size": 1, "replicas": 2}))
    await widgets.patch(WIDGET, "a", "default", {"status": {"replicas": 1, "selector": "a=b"}}, subresource="status")
    scale = await widgets.get(WIDGET, "a", "default", subresource="scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "a=b"})
    patched = await widgets.patch(WIDGET, "a", "default", {"spec": {"replicas": 5}}, subresource="scale")
    assert patched["spec"] == {"replicas": 5}
    request = widgets._request("update", WIDGET, "default", "a", "scale")
    updated = (await verbs.update(request, {**patched, "spec": {"replicas": 6}})).object()
    assert updated["spec"] == {"replicas": 6}
    found = await widgets.get(WIDGET, "a", "default")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (6, 3)
    (scaled,) = [entry for entry in found["metadata"]["managedFields"] if entry.get("subresource") == "scale"]
    assert scaled["fieldsV1"] == {"f:spec": {"f:replicas": {}}} and "time" not in scaled
    with pytest.raises(Conflict):
        await verbs.update(request, {**patched, "spec": {"replicas": 7}})


async def test_a_number_of_replicas_that_is_none_is_named_as_go_names_it(widgets: API) -> None:
    with pytest.raises(Invalid, match=r"accessor error: big is of the type string, expected int64"):
        await widgets.create(widget(spec={"size": 1, "replicas": "big"}))


async def test_fields_that_were_declared_can_be_selected(widgets: API) -> None:
    await widgets.create(widget("a"))
    await widgets.create(widget("b", spec={"size": 1, "colour": "blue"}))
    found = await widgets.list(WIDGET, "default", fields="spec.colour=blue")
    assert [item["metadata"]["name"] for item in found] == ["b"]
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.size"):
        await widgets.list(WIDGET, "default", fields="spec.size=1")


async def test_columns(server: EmbeddedServer, widgets: API) -> None:
    created = await widgets.create(widget(spec={"size": 4}))
    kind = server.cluster.kinds.kind(WIDGET)
    assert kind is not None
    assert [column.name for column in kind.strategy.columns] == ["Name", "Size", "Ready"]
    assert kind.strategy.cells(created, datetime.now(UTC)) == ["a", 4, None]
    ready = {**created, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert kind.strategy.cells(ready, datetime.now(UTC)) == ["a", 4, "True"]


async def test_a_changed_schema_holds_at_once_and_for_what_is_stored(widgets: API) -> None:
    await widgets.create(widget())
    crd = await widgets.get(CRD, "widgets.example.com")
    for version in crd["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["shape"] = {"type": "string", "default": "round"}
        del spec["properties"]["colour"]
        version.pop("selectableFields")
    updated = await widgets.update(crd)
    assert updated["metadata"]["generation"] == 2
    assert (await widgets.get(WIDGET, "a", "default"))["spec"] == {"size": 1, "shape": "round"}
    assert (await widgets.create(widget("b", spec={"size": 1, "colour": "x"})))["spec"] == {"size": 1, "shape": "round"}


async def test_a_changed_definition_ends_the_watches(server: EmbeddedServer, widgets: API) -> None:
    async with widgets.watch(WIDGET) as events, asyncio.timeout(5):
        crd = await widgets.get(CRD, "widgets.example.com")
        crd["spec"]["versions"][0]["additionalPrinterColumns"] = []
        await widgets.update(crd)
        assert [event async for event in events] == []


async def test_a_version_that_is_not_served_is_not_found(widgets: API) -> None:
    await widgets.create(widget())
    crd = await widgets.get(CRD, "widgets.example.com")
    crd["spec"]["versions"][1]["served"] = False
    await widgets.update(crd)
    with pytest.raises(NotFound):
        await widgets.get(OLD_WIDGET, "a", "default")
    assert await widgets.get(WIDGET, "a", "default")


async def test_versions_that_may_hold_data_cannot_be_removed(widgets: API) -> None:
    crd = await widgets.get(CRD, "widgets.example.com")
    crd["spec"]["versions"][0]["storage"], crd["spec"]["versions"][1]["storage"] = False, True
    crd = await widgets.update(crd)
    assert (await widgets.get(CRD, "widgets.example.com"))["status"]["storedVersions"] == ["v1", "v1beta1"]
    crd = await widgets.get(CRD, "widgets.example.com")
    del crd["spec"]["versions"][0]
    with pytest.raises(Invalid, match=r"status.storedVersions\[0\]: Invalid value: \"v1\": missing from spec.versions"):
        await widgets.update(crd)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scope": "Planet"}, 'spec.scope: Unsupported value: "Planet": supported values: "Cluster", "Namespaced"'),
        ({"group": "nodots"}, 'spec.group: Invalid value: "nodots": should be a domain with at least one dot'),
        ({"version": {"storage": False}}, "must have exactly one version marked as storage version"),
        ({"version": {"schema": None}}, r"spec.versions\[0\].schema.openAPIV3Schema: Required value"),
        ({"names": {"plural": "Widgets", "kind": "Widget"}}, "spec.names.plural: Invalid value"),
        ({"conversion": {"strategy": "Webhook"}}, "required when strategy is set to Webhook"),
    ],
)
async def test_definitions_are_validated(api: API, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        await api.create(definition(**changes))


async def test_what_cannot_change_is_refused(widgets: API) -> None:
    crd = await widgets.get(CRD, "widgets.example.com")
    crd["spec"]["scope"] = "Cluster"
    with pytest.raises(Invalid, match=r'spec\.scope: Invalid value: "Cluster": field is immutable'):
        await widgets.update(crd)


async def test_with_its_definition_all_instances_go(widgets: API) -> None:
    await widgets.create(widget("a"))
    await widgets.create(widget("b", metadata={"finalizers": ["example.com/wait"]}))
    async with asyncio.timeout(5), widgets.watch(CRD) as definitions, widgets.watch(WIDGET) as instances:
        marked = await widgets.delete(CRD, "widgets.example.com")
        assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert conditions(marked)["Terminating"] == ("True", "InstanceDeletionPending")
        assert [event.type async for event in instances][:2] == ["ADDED", "ADDED"], "the watch ends"
        with pytest.raises(MethodNotAllowed):
            await widgets.create(widget("c"))
        async with widgets.watch(WIDGET, options=ListOptions(field_selector="metadata.name=b")) as events:
            async for event in events:
                if event.object["metadata"].get("deletionTimestamp"):
                    break
        assert await widgets.find(WIDGET, "a", "default") is None
        await widgets.patch(WIDGET, "b", "default", {"metadata": {"finalizers": None}})
        async for event in definitions:
            if event.type == "DELETED":
                break
    with pytest.raises(NotFound):
        await widgets.list(WIDGET)
    await widgets.create(definition())
    assert await widgets.list(WIDGET) == []
