"""Requests over HTTPS: routes, bodies, representations and refusals, as clients see them."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import msgspec
import pytest

from kapstan.apiserver.http.body import MAX_BODY, decode_json
from kapstan.apiserver.registry.strictness import MAX_COMPLAINTS, Complaints, with_unknown

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def config_map(name: str = "a", **content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **content}


async def test_a_whole_life(admin: Any) -> None:
    status, created = await admin("POST", CONFIG_MAPS, json=config_map(data={"a": "1"}))
    assert status == 201
    assert await admin("GET", f"{CONFIG_MAPS}/a") == (200, created)
    status, updated = await admin("PUT", f"{CONFIG_MAPS}/a", json={**created, "data": {"b": "2"}})
    assert (status, updated["data"]) == (200, {"b": "2"})
    status, patched = await admin(
        "PATCH",
        f"{CONFIG_MAPS}/a",
        data=b'{"data":{"c":"3"}}',
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert (status, patched["data"]) == (200, {"b": "2", "c": "3"})
    status, listed = await admin("GET", "/api/v1/configmaps?fieldSelector=metadata.namespace=default")
    assert (status, listed["kind"], listed["apiVersion"]) == (200, "ConfigMapList", "v1")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    assert "kind" not in listed["items"][0], "items of built-in lists do not repeat their kind"
    status, gone = await admin("DELETE", f"{CONFIG_MAPS}/a", json={"propagationPolicy": "Background"})
    assert (status, gone["kind"], gone["status"]) == (200, "Status", "Success")
    status, refused = await admin("GET", f"{CONFIG_MAPS}/a")
    assert (status, refused["reason"], refused["code"]) == (404, "NotFound", 404)
    assert refused["details"] == {"name": "a", "kind": "configmaps"}
    assert (refused["metadata"], refused["status"]) == ({}, "Failure")


async def test_who_brings_no_credentials_is_anonymous(anonymous: Any) -> None:
    assert (await anonymous("GET", "/version"))[0] == 200
    assert await anonymous("GET", "/healthz") == (200, "ok")
    status, refused = await anonymous("GET", CONFIG_MAPS)
    assert (status, refused["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "configmaps"' in refused["message"]


async def test_who_brings_a_wrong_token_is_nobody(anonymous: Any) -> None:
    status, refused = await anonymous("GET", CONFIG_MAPS, headers={"Authorization": "Bearer nonsense"})
    assert (status, refused["reason"], refused["message"]) == (401, "Unauthorized", "Unauthorized")


async def test_acting_as_somebody_else(admin: Any) -> None:
    status, refused = await admin("GET", CONFIG_MAPS, headers={"Impersonate-User": "jane"})
    assert status == 403
    assert 'User "jane" cannot list resource "configmaps"' in refused["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/namespaces/default/nothings", 404),
        ("GET", "/apis/nobody.example.com/v1/things", 404),
        ("GET", "/nowhere", 404),
        ("POST", f"{CONFIG_MAPS}/a", 405),
        ("PUT", CONFIG_MAPS, 405),
        ("POST", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("POST", "/version", 405),
        ("GET", f"{CONFIG_MAPS}/a/nothing", 404),
    ],
)
async def test_what_is_not_served(admin: Any, method: str, path: str, status: int) -> None:
    answered, _ = await admin(method, path, json={} if method in ("POST", "PUT") else None)
    assert answered == status


async def test_yaml_goes_in_and_out(admin: Any) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  time: '2001-01-01'\n"
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    response, text = await admin.full("POST", CONFIG_MAPS, data=body, headers=headers)
    assert response.status == 201
    assert response.headers["Content-Type"] == "application/yaml"
    assert b"kind: ConfigMap" in text


async def test_refusals_come_in_the_form_that_the_client_likes(admin: Any) -> None:
    response, text = await admin.full("GET", f"{CONFIG_MAPS}/none", headers={"Accept": "application/yaml"})
    assert (response.status, response.headers["Content-Type"]) == (404, "application/yaml")
    assert b"reason: NotFound" in text
    _, text = await admin.full("GET", f"{CONFIG_MAPS}/none", headers={"User-Agent": "curl/8.5.0"})
    assert b'\n  "kind": "Status"' in text
    response, text = await admin.full("GET", f"{CONFIG_MAPS}/none", headers={"Accept": "image/png"})
    assert (response.status, json.loads(text)["kind"]) == (406, "Status")


async def test_a_refusal_is_written_as_go_writes_it(admin: Any) -> None:
    """The tests of Kubernetes' client for Python compare the whole text."""
    _, text = await admin.full("GET", f"{CONFIG_MAPS}/none")
    assert text == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"configmaps \\"none\\" not found","reason":"NotFound",'
        b'"details":{"name":"none","kind":"configmaps"},"code":404}\n'
    )


async def test_a_body_in_an_unknown_format_is_refused(admin: Any) -> None:
    status, refused = await admin("POST", CONFIG_MAPS, data=b"x", headers={"Content-Type": "application/cbor"})
    assert (status, refused["reason"]) == (415, "UnsupportedMediaType")
    assert refused["message"].endswith(
        "accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    status, refused = await admin("PATCH", f"{CONFIG_MAPS}/a", data=b"{}", headers={"Content-Type": "text/plain"})
    assert (status, refused["message"]) == (415, "415: Unsupported Media Type")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b'{"metadata": 7}', b'{"data": 7}'])
async def test_a_body_that_is_no_object_is_a_bad_request(admin: Any, body: bytes) -> None:
    status, refused = await admin("POST", CONFIG_MAPS, data=body, headers={"Content-Type": "application/json"})
    assert (status, refused["reason"]) == (400, "BadRequest")


async def test_a_body_that_is_too_large_is_refused(admin: Any) -> None:
    limit = 3 * 1024 * 1024

    async def chunks() -> Any:
        for _ in range(limit // 65536 + 1):
            yield b" " * 65536

    for body in (io.BytesIO(b" " * (limit + 1)), chunks()):
        status, refused = await admin("POST", CONFIG_MAPS, data=body, headers={"Content-Type": "application/json"})
        assert (status, refused["reason"]) == (413, "RequestEntityTooLarge")
        assert refused["message"] == "Request entity too large: limit is 3145728"


@pytest.mark.parametrize("depth", [300, 5_000, 500_000])
async def test_a_body_that_is_nested_too_deeply_is_refused(admin: Any, depth: int) -> None:
    body = b'{"metadata":{"name":"a"},"x":' + b"[" * depth + b"]" * depth + b"}"
    status, refused = await admin("POST", CONFIG_MAPS, data=body, headers={"Content-Type": "application/json"})
    assert (status, refused["reason"]) == (400, "BadRequest")
    assert "nested" in refused["message"]


async def test_brackets_within_texts_are_no_nesting(admin: Any) -> None:
    status, _ = await admin("POST", CONFIG_MAPS, json=config_map(data={"a": '[{"\\' * 500}))
    assert status == 201


async def test_fields_that_come_twice_are_told(admin: Any) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
    headers = {"Content-Type": "application/json"}
    status, refused = await admin("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", data=body, headers=headers)
    assert status == 400
    assert 'strict decoding error: duplicate field "data.k"' in refused["message"]
    response, _ = await admin.full("POST", CONFIG_MAPS, data=body, headers=headers)
    assert response.status == 201
    assert response.headers.getall("Warning") == ['299 - "duplicate field \\"data.k\\""']


async def test_unknown_fields_are_told_between_those_that_come_twice_as_they_were_sent(admin: Any) -> None:
    body = b'{"x":{"k":1,"k":2},"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"y":1}'
    headers = {"Content-Type": "application/json"}
    _, refused = await admin("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", data=body, headers=headers)
    assert refused["message"].endswith(': unknown field "x", duplicate field "data.k", unknown field "y"')


def test_what_is_said_of_duplicates_has_an_end() -> None:
    """Many fields below a long name have much longer paths than the body is long."""
    many = ",".join(f'"a{number}":1' for number in range(1000))
    body = f'{{"{"x" * 100_000}":{{{many}, {many}}}, "y":1, "y":2}}'.encode()
    _, complaints = decode_json(body, strict=True)
    assert complaints[0].endswith('.a0"')
    assert sum(map(len, complaints)) < 2 * MAX_BODY
    assert isinstance(complaints, Complaints) and sum(map(len, complaints.places)) < 2 * MAX_BODY
    short = ",".join(['"a":{"b":1,"b":1}', *(f'"c{number}":1,"c{number}":1' for number in range(200))])
    _, complaints = decode_json(f"{{{short}}}".encode(), strict=True)
    assert len(complaints) == MAX_COMPLAINTS
    assert complaints[:2] == ['duplicate field "a.b"', 'duplicate field "c0"']
    told = with_unknown(complaints, ["a", *(f"c{number}" for number in range(200))], typed=True)
    assert (len(told), told[:2]) == (MAX_COMPLAINTS, ['unknown field "a"', 'unknown field "c0"'])


@pytest.mark.parametrize(
    ("timeout", "status"),
    [("invalid", 400), ("5", 400), ("5x", 400), ("10s", 200), ("0s", 200), ("100h", 200), ("", 200)],
)
async def test_a_timeout_in_the_url_is_a_duration(admin: Any, timeout: str, status: int) -> None:
    for path in ("/version", CONFIG_MAPS):
        assert (await admin("GET", f"{path}?timeout={timeout}"))[0] == status


async def test_yaml_keys_that_come_twice_are_told(admin: Any) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: '1'\n  k: '2'\n"
    headers = {"Content-Type": "application/yaml"}
    status, refused = await admin("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", data=body, headers=headers)
    assert (status, 'line 6: key "k" already set in map' in refused["message"]) == (400, True)


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("dryRun=Some", 422, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("fieldValidation=Sometimes", 422, "fieldValidation: Unsupported value"),
        ("fieldManager=" + "x" * 129, 422, "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
async def test_options_are_checked(admin: Any, query: str, status: int, message: str) -> None:
    answered, refused = await admin("POST", f"{CONFIG_MAPS}?{query}", json=config_map())
    assert (answered, refused["details"]["kind"]) == (status, "CreateOptions")
    assert message in refused["message"]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersionMatch=Exact", 422, "is forbidden unless resourceVersion is provided"),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        ("watch=1&sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch"),
        ("watch=true&resourceVersionMatch=NotOlderThan", 422, "is forbidden for watch unless sendInitialEvents"),
        ("watch=true&resourceVersion=x", 500, "resourceVersion: Invalid value"),
    ],
)
async def test_list_options_are_checked(admin: Any, query: str, status: int, message: str) -> None:
    answered, refused = await admin("GET", f"{CONFIG_MAPS}?{query}")
    assert answered == status
    assert message in refused["message"]


async def test_a_dry_run_creates_nothing(admin: Any) -> None:
    status, created = await admin("POST", f"{CONFIG_MAPS}?dryRun=All", json=config_map())
    assert (status, created["metadata"]["name"]) == (201, "a")
    assert (await admin("GET", f"{CONFIG_MAPS}/a"))[0] == 404


async def test_delete_options_come_in_the_query_too(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map())
    status, marked = await admin("DELETE", f"{CONFIG_MAPS}/a?propagationPolicy=Foreground")
    assert (status, marked["metadata"]["finalizers"]) == (200, ["foregroundDeletion"])
    status, refused = await admin("DELETE", f"{CONFIG_MAPS}/a?propagationPolicy=Sideways")
    assert (status, refused["reason"]) == (422, "Invalid")


async def test_orphan_dependents_false_is_accepted_rather_than_done(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map(metadata={"name": "a", "finalizers": ["example.com/x"]}))
    assert (await admin("DELETE", f"{CONFIG_MAPS}/a", json={"orphanDependents": False}))[0] == 202


async def test_a_collection_is_deleted(admin: Any) -> None:
    for name in "ab":
        await admin("POST", CONFIG_MAPS, json=config_map(name))
    status, listed = await admin("DELETE", CONFIG_MAPS)
    assert (status, listed["kind"], len(listed["items"])) == (200, "ConfigMapList", 2)
    assert (await admin("GET", CONFIG_MAPS))[1]["items"] == []


async def test_tables(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map())
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a"):
        status, table = await admin("GET", path, headers={"Accept": TABLE})
        assert (status, table["kind"], table["apiVersion"]) == (200, "Table", "meta.k8s.io/v1")
        assert table["columnDefinitions"][0]["name"] == "Name"
        (row,) = table["rows"]
        assert row["cells"][0] == "a"
        assert row["object"]["kind"] == "PartialObjectMetadata"
        assert table["metadata"]["resourceVersion"]
    _, table = await admin("GET", f"{CONFIG_MAPS}?includeObject=Object", headers={"Accept": TABLE})
    assert table["rows"][0]["object"]["kind"] == "ConfigMap"
    _, table = await admin("GET", f"{CONFIG_MAPS}?includeObject=None", headers={"Accept": TABLE})
    assert table["rows"][0]["object"] is None
    assert (await admin("GET", f"{CONFIG_MAPS}?includeObject=Some", headers={"Accept": TABLE}))[0] == 400


async def test_there_is_no_table_of_reviews(admin: Any) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    status, refused = await admin("POST", path, json=review, headers=headers)
    assert (status, refused["reason"]) == (406, "NotAcceptable")


async def test_metadata_alone(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map(data={"a": "1"}))
    status, found = await admin("GET", f"{CONFIG_MAPS}/a", headers={"Accept": METADATA})
    assert (status, found["kind"], "data" in found) == (200, "PartialObjectMetadata", False)
    status, listed = await admin("GET", CONFIG_MAPS, headers={"Accept": METADATA_LIST})
    assert (status, listed["kind"]) == (200, "PartialObjectMetadataList")
    assert listed["items"][0]["metadata"]["name"] == "a"
    assert (await admin("GET", CONFIG_MAPS, headers={"Accept": METADATA}))[0] == 406


async def test_what_nobody_can_write_is_not_acceptable(admin: Any) -> None:
    status, refused = await admin("GET", CONFIG_MAPS, headers={"Accept": "text/html"})
    assert (status, refused["reason"]) == (406, "NotAcceptable")
    status, found = await admin("GET", CONFIG_MAPS, headers={"Accept": "application/vnd.kubernetes.protobuf,*/*"})
    assert (status, found["kind"]) == (200, "ConfigMapList")


async def test_people_get_it_pretty(admin: Any) -> None:
    _, text = await admin.full("GET", f"{CONFIG_MAPS}?pretty=true")
    assert b'{\n  "kind": "ConfigMapList"' in text
    _, text = await admin.full("GET", CONFIG_MAPS, headers={"User-Agent": "curl/8.0"})
    assert b"\n  " in text


async def test_a_watch_streams_events(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map())
    async with admin.session.get(f"{admin.url}{CONFIG_MAPS}?watch=true") as response, asyncio.timeout(5):
        assert response.headers["Content-Type"] == "application/json"
        added = json.loads(await response.content.readline())
        await admin("DELETE", f"{CONFIG_MAPS}/a")
        deleted = json.loads(await response.content.readline())
    assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
    assert added["object"]["kind"] == "ConfigMap"


async def test_a_watch_in_tables_names_its_columns_once(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map("a"))
    await admin("POST", CONFIG_MAPS, json=config_map("b"))
    url = f"{admin.url}{CONFIG_MAPS}?watch=true"
    async with admin.session.get(url, headers={"Accept": TABLE}) as response, asyncio.timeout(5):
        first, second = [json.loads(await response.content.readline())["object"] for _ in range(2)]
    assert first["columnDefinitions"] and not second["columnDefinitions"]
    assert [table["rows"][0]["cells"][0] for table in (first, second)] == ["a", "b"]


async def test_a_watch_of_metadata(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map(data={"a": "1"}))
    url = f"{admin.url}{CONFIG_MAPS}?watch=true"
    async with admin.session.get(url, headers={"Accept": METADATA}) as response, asyncio.timeout(5):
        event = json.loads(await response.content.readline())
    assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")


async def test_a_watch_from_too_long_ago_is_told_within_the_stream(admin: Any, server: Any) -> None:
    storage = server.cluster.storage
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=0)
    storage.compact()
    url = f"{admin.url}{CONFIG_MAPS}?watch=true&resourceVersion=1"
    async with admin.session.get(url) as response, asyncio.timeout(5):
        assert response.status == 200
        event = json.loads(await response.content.readline())
        assert await response.content.readline() == b""
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_the_old_watch_paths_still_work(admin: Any) -> None:
    await admin("POST", CONFIG_MAPS, json=config_map("a"))
    await admin("POST", CONFIG_MAPS, json=config_map("b"))
    url = f"{admin.url}/api/v1/watch/namespaces/default/configmaps/b"
    async with admin.session.get(url) as response, asyncio.timeout(5):
        event = json.loads(await response.content.readline())
    assert event["object"]["metadata"]["name"] == "b"


async def test_odd_names_are_decoded(admin: Any) -> None:
    role = {"metadata": {"name": "system:odd role"}, "rules": []}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert (await admin("POST", path, json=role))[0] == 201
    assert (await admin("GET", f"{path}/system:odd%20role"))[0] == 200


async def test_openapi_is_compressed_for_those_who_can_read_it(admin: Any) -> None:
    for wanted in ("gzip", "identity"):
        response, body = await admin.full("GET", "/openapi/v3/apis/batch/v1", headers={"Accept-Encoding": wanted})
        assert response.headers.get("Content-Encoding", "identity") == wanted
        assert json.loads(body)["openapi"] == "3.0.0"
