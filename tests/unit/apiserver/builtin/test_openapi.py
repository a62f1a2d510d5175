"""OpenAPI documents: what clients look up in them, and equality with kube-apiserver's own for a custom resource."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kapstan.apiserver import builtin

VECTORS = Path(__file__).with_name("vectors")
EVERY_VERB = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
BELOW = ("get", "patch", "update")


@pytest.fixture(scope="module")
def apps() -> dict[str, Any]:
    return builtin.openapi("apps", "v1")


def test_kubectl_explain_finds_the_kind_behind_a_resource_s_path(apps: dict[str, Any]) -> None:
    operation = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"]
    gvk = operation["x-kubernetes-group-version-kind"]
    assert gvk == {"group": "apps", "version": "v1", "kind": "Deployment"}
    owners = [
        name
        for name, schema in apps["components"]["schemas"].items()
        if gvk in schema.get("x-kubernetes-group-version-kind", ())
    ]
    assert owners == ["io.k8s.api.apps.v1.Deployment"]


def test_patch_operations_offer_dry_run_and_field_validation(apps: dict[str, Any]) -> None:
    """Kubectl looks for these names before it sends them."""
    patch = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert [parameter["name"] for parameter in patch["parameters"]] == [
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_a_subresource_is_published_under_the_kind_of_its_body(apps: dict[str, Any]) -> None:
    scale = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]
    assert scale["put"]["x-kubernetes-group-version-kind"]["kind"] == "Scale"
    assert scale["put"]["operationId"] == "replaceAppsV1NamespacedDeploymentScale"
    body = scale["put"]["requestBody"]["content"]["*/*"]["schema"]
    assert body == {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}


@pytest.mark.parametrize("gv", builtin.group_versions(), ids=lambda gv: gv.api_version)
def test_a_document_is_closed_and_has_no_empty_path(gv: builtin.GroupVersion) -> None:
    document = json.loads(json.dumps(builtin.openapi(gv.group, gv.version)))
    schemas = document["components"]["schemas"]
    missing = {ref for ref in references(document) if ref.removeprefix("#/components/schemas/") not in schemas}
    assert not missing
    for path, item in document["paths"].items():
        assert set(item) - {"parameters"}, path


def test_operation_ids_are_unique_in_a_document() -> None:
    paths = builtin.openapi("", "v1")["paths"]
    ids = [op["operationId"] for item in paths.values() for method, op in item.items() if method != "parameters"]
    assert len(ids) == len(set(ids))


def test_kinds_of_every_group_name_the_document_s_own_group(apps: dict[str, Any]) -> None:
    options = apps["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    groups = [gvk["group"] for gvk in options["x-kubernetes-group-version-kind"]]
    assert groups == ["", "apps"]


def test_an_unknown_group_version_has_no_document() -> None:
    with pytest.raises(KeyError, match="apps/v9"):
        builtin.openapi("apps", "v9")


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_a_custom_resource_is_published_as_kube_apiserver_publishes_it(version: str) -> None:
    """Recorded from Kubernetes' own builder (`tools/oracles/openapi`)."""
    expected = json.loads((VECTORS / f"gadgets.{version}.json").read_bytes())
    definition = json.loads((VECTORS / "gadgets.crd.json").read_bytes())
    ours = json.loads(json.dumps(custom_document(definition, version)))
    assert without_reasons(ours["paths"]) == expected["paths"]
    published, expected = ours["components"]["schemas"], expected["components"]["schemas"]
    # The builder lists every group of its scheme for this kind; the server's own documents do not.
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    del published[options], expected[options]
    assert without_reasons(published) == without_reasons(expected)


def test_what_every_custom_object_has_is_described() -> None:
    definition = json.loads((VECTORS / "gadgets.crd.json").read_bytes())
    schemas = custom_document(definition, "v1")["components"]["schemas"]
    gadget = next(one for name, one in schemas.items() if name.endswith(".v1.Gadget"))
    for field in ("apiVersion", "kind", "metadata"):
        assert gadget["properties"][field]["description"]
    metadata = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    assert [field for field, part in metadata["properties"].items() if not part.get("description")] == []


def custom_document(definition: dict[str, Any], version: str) -> dict[str, Any]:
    spec = definition["spec"]
    group, names = spec["group"], spec["names"]
    found = next(entry for entry in spec["versions"] if entry["name"] == version)
    subresources = {
        "status": builtin.Subresource(name="status", kind=names["kind"], verbs=BELOW),
        "scale": builtin.Subresource(name="scale", kind="Scale", group="autoscaling", version="v1", verbs=BELOW),
    }
    resource = builtin.Resource(
        name=names["plural"],
        singular=names["singular"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        verbs=EVERY_VERB,
        subresources=tuple(subresources[name] for name in found.get("subresources", ())),
    )
    schemas = builtin.custom_schemas(
        group,
        version,
        names["kind"],
        found["schema"]["openAPIV3Schema"],
        selectable_fields=[field["jsonPath"] for field in found.get("selectableFields", ())],
    )
    paths = builtin.resource_paths(group, version, resource, builtin.schema_name, custom=True)
    return builtin.document(group, version, paths, schemas)


def test_a_custom_kind_without_a_schema_takes_any_object() -> None:
    schemas = builtin.custom_schemas("example.dev", "v1", "Thing", None, list_kind="Things")
    assert list(schemas) == ["dev.example.v1.Thing", "dev.example.v1.Things"]
    assert "properties" not in schemas["dev.example.v1.Thing"]


def test_completing_a_custom_schema_leaves_the_definition_as_it_was() -> None:
    schema = {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": True}}}
    before = json.dumps(schema)
    builtin.custom_schemas("example.dev", "v1", "Thing", schema)
    assert json.dumps(schema) == before


def without_reasons(part: Any) -> Any:
    """Without descriptions, which the vectors do not record."""
    if isinstance(part, dict):
        kept = {key: value for key, value in part.items() if key != "description" or not isinstance(value, str)}
        return {key: without_reasons(value) for key, value in kept.items()}
    return [without_reasons(value) for value in part] if isinstance(part, list) else part


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(value) for value in part.values()))
    return set().union(*(references(value) for value in part)) if isinstance(part, list) else set()
