"""Strategic merge patches that do not fit are refused in the same words by both servers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.integration.apiserver.strategy.conftest import Both
from tests.unit.apiserver.strategy.asking import Server

pytestmark = pytest.mark.real

STRATEGIC = "application/strategic-merge-patch+json"
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "patched"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


def of_pods(spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


PATCHES: tuple[Any, ...] = (
    {"spec": "x"},
    {"spec": {"replicas": "x"}},
    {"spec": {"replicas": 1.5}},
    {"spec": {"paused": 1}},
    {"spec": {"selector": 5}},
    {"spec": {"unknown": [1]}},
    {"spec": {"$patch": "nope"}},
    {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
    {"spec": {"template": {"metadata": 7}}},
    {"metadata": []},
    {"metadata": {"labels": "x"}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"labels": {"a": True}}},
    {"metadata": {"finalizers": "x"}},
    {"metadata": {"finalizers": [1]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
    of_pods({"containers": "x"}),
    of_pods({"containers": {"a": 1}}),
    of_pods({"containers": ["x"]}),
    of_pods({"containers": [{"image": "z"}]}),
    of_pods({"containers": [{"name": 1}]}),
    of_pods({"containers": [{"name": "c", "ports": "x"}]}),
    of_pods({"containers": [{"name": "c", "command": "x"}]}),
    of_pods({"containers": [{"name": "c", "env": [{"value": "x"}]}]}),
    of_pods({"containers": [{"name": "c", "$patch": "bad"}]}),
    of_pods({"containers": [{"$patch": "delete"}]}),
    of_pods({"tolerations": "x"}),
    of_pods({"$setElementOrder/containers": "x"}),
    of_pods({"$setElementOrder/containers": [{"x": "y"}]}),
    of_pods({"$retainKeys": "x"}),
    {"$patch": "nope"},
    {"unknown": {"a": "b"}},
    [],
    "x",
    5,
)


async def refusals(server: Server) -> list[Any]:
    await server.create(DEPLOYMENT)
    found = []
    for patch in PATCHES:
        path = f"{server.path(DEPLOYMENT, 'patched')}?dryRun=All"
        answer = await server.ask("PATCH", path, patch, content_type=STRATEGIC)
        found.append([json.dumps(patch), answer.status, answer.body if answer.status >= 300 else None])
    return found


async def test_both_refuse_the_same_patches_in_the_same_words(both: Both) -> None:
    ours, theirs = await both.ask(refusals)
    assert ours == theirs
