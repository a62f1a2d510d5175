"""Whatever a client sends, it is answered, and never with a failure of our own."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kapstan.apiserver.controllers.manager import CONTROLLERS
from kapstan.apiserver.http.handler import handle
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse
from kapstan.apiserver.http.wire import Headers
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.server import EmbeddedServer

TOKEN = "hostile"
USER = UserInfo("mallory", groups=("system:masters",))
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "keyed": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {"name": {"type": "string"}},
                                        },
                                    },
                                    "any": {"x-kubernetes-preserve-unknown-fields": True},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "labels": {"a": "b"}, "finalizers": ["example.com/x"]},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
        },
    },
}
WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a"},
    "spec": {"replicas": 1, "keyed": [{"name": "x"}, {"name": "y"}], "any": {"deep": [1, {"x": None}]}},
}
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
TARGETS: dict[str, Any] = {
    "/api/v1/namespaces/default/configmaps": CONFIG_MAP,
    "/apis/apps/v1/namespaces/default/deployments": DEPLOYMENT,
    "/apis/example.com/v1/namespaces/default/widgets": WIDGET,
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": CRD,
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {"spec": {"resourceAttributes": {"verb": "get"}}},
}

texts = st.one_of(
    st.text(max_size=8), st.sampled_from(["", "a", "a/b", "$patch", "v1", "1e9", "\x00", "metadata", "-", "9" * 30])
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """The document with a few places replaced, removed or added."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 3))):
        node: Any = document
        while isinstance(node, dict | list) and node and draw(st.integers(0, 3)):
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = draw(st.sampled_from(keys))
            if not isinstance(node[key], dict | list) or not draw(st.integers(0, 2)):
                node[key] = draw(values)
                break
            node = node[key]
        else:
            if isinstance(node, dict):
                node[draw(texts)] = draw(values)
            elif isinstance(node, list):
                node.append(draw(values))
    return document


@st.composite
def json_patches(draw: st.DrawFn) -> Any:
    paths = st.one_of(
        texts, st.sampled_from(["/metadata", "/spec", "/data/k", "/spec/keyed/0", "/metadata/labels/a", "/"])
    )
    operation = st.fixed_dictionaries(
        {"op": st.one_of(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), texts), "path": paths},
        optional={"value": values, "from": paths},
    )
    return draw(st.one_of(st.lists(operation, max_size=4), values))


queries = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "dryRun",
                "fieldValidation",
                "fieldManager",
                "force",
                "labelSelector",
                "fieldSelector",
                "limit",
                "continue",
                "resourceVersion",
                "resourceVersionMatch",
                "timeoutSeconds",
                "sendInitialEvents",
                "allowWatchBookmarks",
                "propagationPolicy",
                "pretty",
                "gracePeriodSeconds",
                "orphanDependents",
                "includeObject",
            ]
        ),
        st.one_of(texts, st.sampled_from(["All", "Strict", "Warn", "true", "0", "1", "a=b", "metadata.name=a"])),
    ),
    max_size=4,
)
types = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
    ]
)
accepts = st.sampled_from(
    [
        "",
        "*/*",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/yaml",
        "a/b",
        ";;,,=",
        "application/json;q=x",
    ]
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, str, dict[str, str], bytes]:
    base, document = draw(st.sampled_from(sorted(TARGETS.items(), key=lambda found: found[0])))
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    path = base + draw(st.sampled_from(["", "/a", "/widgets.example.com", "/a/status", "/a/scale", "/a/nothing", "/b"]))
    headers = {"Content-Type": draw(types), "Accept": draw(accepts), "User-Agent": draw(texts)}
    if method == "PATCH" and draw(st.booleans()):
        headers["Content-Type"] = "application/json-patch+json"
        body: Any = draw(json_patches())
    else:
        body = draw(mutated(document))
    data = draw(st.one_of(st.just(json.dumps(body).encode()), st.binary(max_size=40)))
    return method, path, urlencode(draw(queries)), headers, data


class Failures(logging.Handler):
    """Collects what the server logs as its own failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.failures: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.failures.append(record)


class Server:
    """A server and a loop of its own: each example is one request."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.server = EmbeddedServer(without_controllers=CONTROLLERS, static_tokens={TOKEN: USER})
        self.runner.run(self.server.__aenter__())
        api = self.server.cluster.api
        self.runner.run(api.create(CRD))
        for document in (CONFIG_MAP, DEPLOYMENT, WIDGET):
            metadata = {**document["metadata"], "namespace": "default"}
            self.runner.run(api.create({**document, "metadata": metadata}))

    def close(self) -> None:
        self.runner.run(self.server.__aexit__())
        self.runner.close()

    def ask(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Response | WatchResponse:
        async def read(limit: int) -> bytes:
            return body

        sent = Headers([*headers.items(), ("Authorization", f"Bearer {TOKEN}")])
        return self.runner.run(handle(self.server.cluster, HTTPRequest(method, path, query, sent, read)))


@pytest.fixture(scope="module")
def hostile() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_every_request_is_answered(hostile: Server, request: Any) -> None:
    handler = Failures()
    logger = logging.getLogger("kapstan.apiserver")
    logger.addHandler(handler)
    try:
        answer = hostile.ask(*request)
    finally:
        logger.removeHandler(handler)
    assert not handler.failures, handler.failures[0].getMessage()
    if isinstance(answer, Response):
        assert 200 <= answer.status < 600
        if answer.content_type == "application/json" and answer.status >= 400:
            assert json.loads(answer.body)["kind"] == "Status"
