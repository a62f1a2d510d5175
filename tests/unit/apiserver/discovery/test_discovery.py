"""Discovery, OpenAPI, version and health, as clients ask for them."""

from __future__ import annotations

import json
from typing import Any

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                "subresources": {"status": {}},
            }
            for name in ("v1alpha1", "v1", "v1beta1")
        ],
    },
}


async def test_groups_and_versions_in_the_old_form(admin: Any) -> None:
    _, versions = await admin("GET", "/api")
    assert (versions["kind"], versions["versions"]) == ("APIVersions", ["v1"])
    assert versions["serverAddressByClientCIDRs"][0]["serverAddress"].startswith("127.0.0.1:")
    _, groups = await admin("GET", "/apis")
    by_name = {group["name"]: group for group in groups["groups"]}
    assert by_name["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    _, group = await admin("GET", "/apis/apps")
    assert (group["kind"], group["name"]) == ("APIGroup", "apps")


async def test_resources_in_the_old_form(admin: Any) -> None:
    _, core = await admin("GET", "/api/v1")
    found = {resource["name"]: resource for resource in core["resources"]}
    assert core["groupVersion"] == "v1"
    assert found["pods"]["shortNames"] == ["po"]
    assert found["pods"]["categories"] == ["all"]
    assert found["pods/status"]["verbs"] == ["get", "patch", "update"]
    assert (found["pods/eviction"]["group"], found["pods/eviction"]["version"]) == ("policy", "v1")
    assert not found["nodes"]["namespaced"]
    assert (await admin("GET", "/apis/apps/v1"))[1]["groupVersion"] == "apps/v1"
    assert (await admin("GET", "/apis/apps/v7"))[0] == 404


async def test_everything_at_once(admin: Any) -> None:
    for path, group in (("/api", ""), ("/apis", "apps")):
        response, body = await admin.full("GET", path, headers={"Accept": f"{AGGREGATED},application/json"})
        assert response.headers["Content-Type"] == AGGREGATED
        document = json.loads(body)
        assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
        names = [item["metadata"].get("name", "") for item in document["items"]]
        assert group in names
        headers = {"Accept": AGGREGATED, "If-None-Match": response.headers["ETag"]}
        assert (await admin.full("GET", path, headers=headers))[0].status == 304
    deployments = next(
        resource
        for item in document["items"]
        for version in item["versions"]
        for resource in version["resources"]
        if resource["resource"] == "deployments"
    )
    assert deployments["responseKind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {sub["subresource"] for sub in deployments["subresources"]} == {"scale", "status"}


async def test_who_asks_for_an_older_form_gets_the_plain_one(admin: Any) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    assert (await admin("GET", "/apis", headers={"Accept": accept}))[1]["kind"] == "APIGroupList"


async def test_custom_kinds_are_discovered_at_once(admin: Any) -> None:
    response, _ = await admin.full("GET", "/apis", headers={"Accept": AGGREGATED})
    await admin("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=WIDGETS)
    headers = {"Accept": AGGREGATED, "If-None-Match": response.headers["ETag"]}
    response, body = await admin.full("GET", "/apis", headers=headers)
    assert response.status == 200, "the tag changes with the content"
    group = next(item for item in json.loads(body)["items"] if item["metadata"].get("name") == "example.com")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1", "v1alpha1"]
    _, resources = await admin("GET", "/apis/example.com/v1")
    assert [resource["name"] for resource in resources["resources"]] == ["widgets", "widgets/status"]
    _, found = await admin("GET", "/apis/example.com")
    assert found["preferredVersion"]["version"] == "v1"


async def test_version_and_paths_are_indented_for_people(admin: Any) -> None:
    for path, start in (
        ("/version", b'{\n  "major": "1",\n  "minor": '),
        ("/", b'{\n  "paths": [\n    "/.well-known/'),
    ):
        response, body = await admin.full("GET", path, headers={"Accept": "application/yaml"})
        assert response.headers["Content-Type"] == "application/json"
        assert body.startswith(start)
        assert body.endswith(b"}")


async def test_openapi_v2_is_one_document_that_is_known_by_its_hash(admin: Any) -> None:
    head, body = await admin.full("GET", "/openapi/v2")
    assert head.status == 200
    document = json.loads(body)
    pod = document["definitions"]["io.k8s.api.core.v1.Pod"]
    assert pod["properties"]["spec"] == {"$ref": "#/definitions/io.k8s.api.core.v1.PodSpec"}
    operation = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert {"$ref": "#/parameters/dryRun"} in operation["parameters"]
    again, _ = await admin.full("GET", "/openapi/v2", headers={"If-None-Match": head.headers["ETag"]})
    assert again.status == 304
    assert (await admin("GET", "/openapi/v2", headers={"Accept": "text/plain"}))[0] == 406
    assert (await admin("GET", "/openapi/v2/more"))[0] == 404


async def test_openapi_v2_is_to_be_had_as_protobuf(admin: Any) -> None:
    for sign in ("@", "."):
        accept = {"Accept": f"application/com.github.proto-openapi.spec.v2{sign}v1.0+protobuf"}
        response, body = await admin.full("GET", "/openapi/v2", headers=accept)
        assert response.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        assert body.startswith(b"\n\x032.0\x12\x12\n\nKubernetes\x12\x041.36")
        assert b"#/definitions/io.k8s.api.core.v1.PodSpec" in body


async def test_openapi_documents_are_found_by_their_hash(admin: Any) -> None:
    _, index = await admin("GET", "/openapi/v3")
    url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
    response, body = await admin.full("GET", url)
    document = json.loads(body)
    assert response.status == 200
    assert "io.k8s.api.apps.v1.Deployment" in document["components"]["schemas"]
    assert "immutable" in response.headers["Cache-Control"]
    headers = {"If-None-Match": response.headers["ETag"]}
    assert (await admin.full("GET", url, headers=headers))[0].status == 304
    moved, _ = await admin.full("GET", "/openapi/v3/apis/apps/v1?hash=OLD", allow_redirects=False)
    assert (moved.status, moved.headers["Location"]) == (301, url)
    assert (await admin("GET", "/openapi/v3/apis/nothing/v1"))[0] == 404
    accept = {"Accept": "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"}
    assert (await admin("GET", "/openapi/v3/apis/apps/v1", headers=accept))[0] == 406


async def test_openapi_has_custom_kinds(admin: Any) -> None:
    await admin("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=WIDGETS)
    _, index = await admin("GET", "/openapi/v3")
    _, document = await admin("GET", index["paths"]["apis/example.com/v1"]["serverRelativeURL"])
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status" in document["paths"]


async def test_the_version_is_that_of_kubernetes(admin: Any) -> None:
    _, version = await admin("GET", "/version")
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert version["gitVersion"].endswith("+kapstan")


async def test_health(admin: Any, anonymous: Any, server: Any) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert await anonymous("GET", path) == (200, "ok")
    assert await admin("GET", "/readyz/ping") == (200, "ok")
    _, text = await anonymous("GET", "/readyz?verbose")
    assert text == "[+]ping ok\n[+]log ok\n[+]etcd ok\nreadyz check passed\n"
    assert (await admin("GET", "/readyz/nothing"))[0] == 404
    server.cluster.checks["etcd"] = lambda: "the disk is full"
    status, text = await anonymous("GET", "/readyz")
    assert status == 500
    assert "[-]etcd failed: reason withheld" in text
    assert (await anonymous("GET", "/readyz?exclude=etcd"))[0] == 200


async def test_others_can_learn_to_check_tokens(admin: Any) -> None:
    _, configuration = await admin("GET", "/.well-known/openid-configuration")
    assert configuration["jwks_uri"].endswith("/openid/v1/jwks")
    _, keys = await admin("GET", "/openid/v1/jwks")
    assert keys["keys"][0]["kty"] == "EC"


async def test_the_root_lists_paths(admin: Any) -> None:
    _, root = await admin("GET", "/")
    assert {"/api", "/apis/apps", "/apis/apps/v1", "/healthz"} <= set(root["paths"])
