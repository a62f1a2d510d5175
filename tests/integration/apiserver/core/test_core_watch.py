"""Watches on both servers: the same events, in the same order and form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.apiserver.core.conftest import Both

pytestmark = pytest.mark.real

CONFIG_MAPS = "/api/v1/namespaces/$NS/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
STREAMED = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "1"}}


LIFE: list[tuple[Any, ...]] = [
    ("create", "POST", CONFIG_MAPS, config_map("b", l="x")),
    ("change", "PATCH", f"{CONFIG_MAPS}/b", {"data": {"b": "2"}}, MERGE),
    ("same", "PATCH", f"{CONFIG_MAPS}/b", {"data": {"b": "2"}}, MERGE),
    ("leave", "PATCH", f"{CONFIG_MAPS}/b", {"metadata": {"labels": {"l": "y"}}}, MERGE),
    ("unseen", "PATCH", f"{CONFIG_MAPS}/b", {"data": {"c": "3"}}, MERGE),
    ("join", "PATCH", f"{CONFIG_MAPS}/b", {"metadata": {"labels": {"l": "x"}}}, MERGE),
    ("delete", "DELETE", f"{CONFIG_MAPS}/b"),
]


@pytest.mark.parametrize(
    ("query", "headers", "first", "count"),
    [
        ("", {}, 1, 7),
        ("&resourceVersion=0", {}, 1, 7),
        ("&labelSelector=l%3Dx", {}, 1, 6),
        ("&fieldSelector=metadata.name%3Db", {}, 0, 6),
        (f"&{STREAMED}", {}, 2, 8),
        (f"&{STREAMED}&labelSelector=l%3Dx", {}, 2, 7),
        ("", TABLE, 1, 7),
        (f"&{STREAMED}", TABLE, 2, 8),
        ("", METADATA, 1, 7),
        (f"&{STREAMED}", METADATA, 2, 8),
    ],
)
async def test_both_servers_tell_the_same_story(
    both: Both, query: str, headers: dict[str, str], first: int, count: int
) -> None:
    steps = [both.step(*step) for step in LIFE]
    stories = []
    for server in (both.embedded, both.real):
        await server.run(both.step("", "POST", "/api/v1/namespaces", {"metadata": {"name": "$NS"}}), both.values)
        await server.run(both.step("", "POST", CONFIG_MAPS, config_map("a", l="x")), both.values)
        path = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=10{query}"
        stories.append(await server.watched(path, headers, first, steps, count, both.values))
    ours, theirs = stories
    assert [event["type"] for event in ours] == [event["type"] for event in theirs]
    assert ours == theirs


async def test_both_servers_refuse_the_future_within_the_stream(both: Both) -> None:
    stories = []
    for server in (both.embedded, both.real):
        await server.run(both.step("", "POST", "/api/v1/namespaces", {"metadata": {"name": "$NS"}}), both.values)
        path = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=5&{STREAMED}&resourceVersion=999999999"
        stories.append(await server.watched(path, {}, 1, [], 1, both.values))
    ours, theirs = stories
    assert ours == theirs
    assert ours[0]["object"]["code"] == 504
