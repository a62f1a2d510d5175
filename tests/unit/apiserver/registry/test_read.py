"""Lists: order, selectors, versions and pages."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.registry.outcome import Listed
from kapstan.apiserver.registry.pagination import Position, decode_token, encode_token
from kapstan.apiserver.request import ListOptions
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.errors import BadRequest, Expired, NotFound, Timeout
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


async def create(api: API, name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def list_page(api: API, namespace: str = "default", **options: Any) -> Listed:
    return await verbs.list_objects(api._request("list", CONFIG_MAP, namespace), ListOptions(**options))


def names(listed: Listed) -> list[str]:
    return [msgspec.json.decode(value)["metadata"]["name"] for value in listed.values]


async def test_lists_are_sorted_by_namespace_and_name(api: API) -> None:
    for namespace, name in (("kube-public", "a"), ("default", "b"), ("default", "a")):
        await create(api, name, namespace)
    assert names(await list_page(api)) == ["a", "b"]
    found = await api.list(CONFIG_MAP)
    assert [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in found] == [
        ("default", "a"),
        ("default", "b"),
        ("kube-public", "a"),
        ("kube-system", "extension-apiserver-authentication"),
        ("kube-system", "kube-apiserver-legacy-service-account-token-tracking"),
    ]


@pytest.mark.parametrize(
    ("labels", "fields", "expected"),
    [
        ("env=prod", "", ["a", "c"]),
        ("env!=prod", "", ["b"]),
        ("env in (prod,test),tier", "", ["a"]),
        ("", "metadata.name=b", ["b"]),
        ("", "metadata.name!=b", ["a", "c"]),
        ("", "metadata.name=b,metadata.namespace=default", ["b"]),
        ("", "metadata.namespace=elsewhere", []),
        ("env=prod", "metadata.name=b", []),
    ],
)
async def test_selectors(api: API, labels: str, fields: str, expected: list[str]) -> None:
    await create(api, "a", env="prod", tier="web")
    await create(api, "b", env="test")
    await create(api, "c", env="prod")
    listed = await list_page(api, label_selector=labels, field_selector=fields)
    assert names(listed) == expected
    everywhere = ",".join(filter(None, (fields, "metadata.namespace=default")))
    across = await list_page(api, "", label_selector=labels, field_selector=everywhere)
    assert names(across) == ([] if "elsewhere" in fields else expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_selector": "a in b"}, "unable to parse requirement"),
        ({"field_selector": "nonsense"}, "invalid selector"),
        ({"field_selector": "data.a=1"}, '"data.a" is not a known field selector: only "metadata.name"'),
        ({"resource_version": "abc"}, 'invalid resource version: .*strconv.ParseUint: parsing "abc": invalid syntax'),
        ({"resource_version": "9" * 30}, "value out of range"),
        ({"continue_token": "%%%"}, "invalid continue token: continue key is not valid"),
        ({"continue_token": "e30"}, "does not recognize this encoded version"),
    ],
)
async def test_what_cannot_be_read_is_refused(api: API, options: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        await list_page(api, **options)


async def test_pages_are_of_one_moment(api: API) -> None:
    """What is created, changed and deleted between two pages does not show."""
    for name in "abcdef":
        await create(api, name)
    first = await list_page(api, limit=2)
    assert (names(first), first.remaining) == (["a", "b"], 4)
    await api.delete(CONFIG_MAP, "c", "default")
    await create(api, "bb")
    await api.patch(CONFIG_MAP, "d", "default", {"data": {"new": "1"}})
    second = await list_page(api, limit=2, continue_token=first.continue_token)
    assert (names(second), second.remaining, second.revision) == (["c", "d"], 2, first.revision)
    assert b"new" not in second.values[1]
    third = await list_page(api, limit=2, continue_token=second.continue_token)
    assert (names(third), third.remaining, third.continue_token) == (["e", "f"], None, "")


async def test_pages_of_a_selection_do_not_tell_how_many_are_left(api: API) -> None:
    for name in "abcd":
        await create(api, name, l="x" if name in "acd" else "y")
    first = await list_page(api, limit=2, label_selector="l=x")
    assert (names(first), first.remaining) == (["a", "c"], None)
    assert names(await list_page(api, limit=2, label_selector="l=x", continue_token=first.continue_token)) == ["d"]


async def test_a_page_that_is_too_old_can_be_continued_as_things_are_now(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    for name in "abcd":
        await create(api, name)
    first = await list_page(api, limit=2)
    await api.delete(CONFIG_MAP, "c", "default")
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=0)
    storage.compact()
    with pytest.raises(Expired, match="The provided continue parameter is too old") as refused:
        await list_page(api, limit=2, continue_token=first.continue_token)
    token = refused.value.status.metadata.continue_
    assert names(await list_page(api, limit=2, continue_token=token)) == ["d"]


async def test_versions(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    first = await create(api, "a")
    version = first["metadata"]["resourceVersion"]
    await create(api, "b")
    exact = await list_page(api, resource_version=version, resource_version_match="Exact")
    assert (names(exact), exact.revision) == (["a"], int(version))
    for match in ("NotOlderThan", ""):
        latest = await list_page(api, resource_version=version, resource_version_match=match)
        assert (names(latest), latest.revision) == (["a", "b"], storage.revision)
    assert names(await list_page(api, resource_version="0")) == ["a", "b"]
    assert names(await list_page(api, resource_version=version, limit=5)) == ["a"]


async def test_the_future_is_not_there_yet(api: API) -> None:
    for options in ({"resource_version": "99999"}, {"resource_version": "99999", "resource_version_match": "Exact"}):
        with pytest.raises(Timeout, match="Too large resource version: 99999, current: ") as refused:
            await list_page(api, **options)
        assert refused.value.causes[0].reason == "ResourceVersionTooLarge"
        assert refused.value.retry_after == 1


async def test_a_version_below_the_floor_has_expired(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    first = await create(api, "a")
    await create(api, "b")
    storage._history.limits = msgspec.structs.replace(storage._history.limits, events=0)
    storage.compact()
    version = first["metadata"]["resourceVersion"]
    with pytest.raises(Expired, match="The resourceVersion for the provided list is too old"):
        await list_page(api, resource_version=version, resource_version_match="Exact")


async def test_a_token_goes_with_no_version(api: API) -> None:
    await create(api, "a")
    await create(api, "b")
    first = await list_page(api, limit=1)
    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await list_page(api, limit=1, continue_token=first.continue_token, resource_version="1")


async def test_what_is_not_there_is_not_found(api: API) -> None:
    with pytest.raises(NotFound, match='configmaps "a" not found') as refused:
        await api.get(CONFIG_MAP, "a", "default")
    assert refused.value.status.details is not None
    assert refused.value.status.details.kind == "configmaps"


@given(revision=st.integers(1, 2**63 - 1), key=st.from_regex(r"[a-z]([-a-z0-9]{0,5}[a-z0-9])?(\0)?", fullmatch=True))
def test_tokens_come_back_as_they_went(revision: int, key: str) -> None:
    assert decode_token(encode_token(revision, f"ns/{key}", "ns/"), "ns/") == Position(revision, f"ns/{key}")


@given(st.one_of(st.text(max_size=60), st.binary(max_size=60).map(lambda raw: base64.urlsafe_b64encode(raw).decode())))
def test_no_token_leads_out_of_its_namespace(token: str) -> None:
    """Whatever a client sends, it is refused or stays below the prefix."""
    try:
        position = decode_token(token, "ns/")
    except BadRequest:
        return
    assert position.key.startswith("ns/")


@given(start=st.text(max_size=20), revision=st.one_of(st.integers(), st.floats(), st.none()))
def test_no_forged_token_leads_out_of_its_namespace(start: str, revision: Any) -> None:
    document = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    token = base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")
    try:
        position = decode_token(token, "ns/")
    except BadRequest:
        return
    assert position.key.startswith("ns/") and "/../" not in position.key
