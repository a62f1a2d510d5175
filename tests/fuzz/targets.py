"""Targets: each makes a request out of any bytes, such that they reach one decoder of the server.

Whatever the bytes are, the server has an answer, and never one that says that it failed itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.http.handler import handle
from kapstan.apiserver.http.message import HTTPRequest, Response
from kapstan.apiserver.http.wire import Headers
from kapstan.apiserver.request import UserInfo

__all__ = ("TARGETS", "Asked", "Fuzzed", "Target")

_TOKEN = "fuzz"
_ADMIN = UserInfo("fuzz", groups=("system:masters",))
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DRY = "dryRun=All"
_STRICT = f"{_DRY}&fieldValidation=Strict"
_FAILED = b"the server could not answer"  # what it says of a failure of its own; kube-apiserver has other 500s, too
_WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
        },
    },
}


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    content_type: str = "application/json"


class Target(NamedTuple):
    """How bytes become a request, and bytes to begin with."""

    ask: Callable[[bytes], Asked]
    seeds: tuple[bytes, ...]


def _body(content_type: str, *seeds: bytes, query: str = _DRY) -> Target:
    return Target(lambda data: Asked("POST", _CONFIG_MAPS, query, data, content_type), seeds)


def _patch(content_type: str, *seeds: object) -> Target:
    query = f"{_DRY}&fieldManager=fuzz&force=true" if "apply" in content_type else _DRY
    made = tuple(json.dumps(seed).encode() for seed in seeds)
    return Target(lambda data: Asked("PATCH", f"{_DEPLOYMENTS}/web", query, data, content_type), made)


def _query(name: str, *seeds: bytes) -> Target:
    return Target(lambda data: Asked("GET", _CONFIG_MAPS, f"limit=1&{name}={quote(data)}"), seeds)


def _rule(data: bytes) -> Asked:
    """A custom resource whose schema has the bytes as its rule, and as the expression of its message."""
    text = data.decode(errors="replace")
    spec = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "s": {"type": "string", "maxLength": 10},
            "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
        },
        "x-kubernetes-validations": [{"rule": text, "messageExpression": text}],
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "fuzzes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "fuzzes", "kind": "Fuzz"},
            "versions": [version],
        },
    }
    return Asked("POST", _DEFINITIONS, _DRY, json.dumps(definition).encode())


_OBJECT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}'
_PROTOBUF = bytes.fromhex("6b3873000a0f0a0276311209436f6e6669674d61701200")

TARGETS: Mapping[str, Target] = {
    "json": _body(
        "application/json", _OBJECT, b'{"a":1,"a":[1e3,null,"\\u00e9"]}', query=f"{_DRY}&fieldValidation=Strict"
    ),
    "yaml": _body("application/yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    b\n"),
    "protobuf": _body("application/vnd.kubernetes.protobuf", _PROTOBUF),
    "labels": _query("labelSelector", b"a=b,c!=d,e in (f,g),!h,i>1", b"x notin ()"),
    "fields": _query("fieldSelector", b"metadata.name=a,metadata.namespace!=b", b"a=\\,b"),
    "continue": _query("continue", b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0"),
    "jsonpatch": _patch(
        "application/json-patch+json",
        [{"op": "replace", "path": "/spec/replicas", "value": 2}, {"op": "test", "path": "/kind", "value": "x"}],
        [{"op": "move", "from": "/spec/template", "path": "/spec/template/metadata"}, {"op": "copy", "path": "/a~1b"}],
    ),
    "mergepatch": _patch("application/merge-patch+json", {"spec": {"replicas": None, "template": {"spec": []}}}),
    "strategic": _patch(
        "application/strategic-merge-patch+json",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "$patch": "delete"}], "$setElementOrder/x": []}}}},
        {"metadata": {"finalizers": ["a"], "$deleteFromPrimitiveList/finalizers": ["b"], "$retainKeys": ["c"]}},
    ),
    "apply": _patch("application/apply-patch+yaml", _WEB, {"apiVersion": "apps/v1", "kind": "Deployment"}),
    "cel": Target(
        _rule,
        (
            b"self.n < 3 && self.l.all(x, x.startsWith('a'))",
            b"has(self.s) ? string(self.n) : self.l.map(x, x + 'b').join(',')",
            b"duration('1h') > duration('2m') || quantity('1Gi').isGreaterThan(quantity('1M'))",
        ),
    ),
    "path": Target(lambda data: Asked("GET", "/" + data.decode("latin-1")), (b"api/v1/nodes", b"apis/apps/v1/x/y/z/a")),
}


class Fuzzed:
    """A server in memory that is asked anything."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._cluster = self._loop.run_until_complete(self._new())

    async def _new(self) -> LogicalCluster:
        cluster = await new_cluster("fuzz", tasks=_NoTasks(), static_tokens={_TOKEN: _ADMIN})  # type: ignore[arg-type]
        for path, obj in ((_DEPLOYMENTS, _WEB), (_CONFIG_MAPS, json.loads(_OBJECT))):
            answer = await _answer(cluster, Asked("POST", path, body=json.dumps(obj).encode()))
            assert answer.status == 201, answer.body
        return cluster

    def __call__(self, target: Target, data: bytes) -> None:
        """RuntimeError if the server fails."""
        asked = target.ask(data)
        answer = self._loop.run_until_complete(_answer(self._cluster, asked))
        if _FAILED in answer.body:
            raise RuntimeError(f"{asked.method} {asked.path}?{asked.query}: {answer.status} {answer.body[:500]!r}")

    def close(self) -> None:
        self._cluster.close()
        self._loop.close()


class _NoTasks:
    """Requests that change nothing leave nothing to do."""

    def create_task(self, work: Any) -> asyncio.Task[None]:
        return asyncio.ensure_future(work)


async def _answer(cluster: LogicalCluster, asked: Asked) -> Response:
    async def read(limit: int) -> bytes:
        return asked.body[:limit]

    headers = [("Authorization", f"Bearer {_TOKEN}"), ("Content-Type", asked.content_type)]
    request = HTTPRequest(asked.method, asked.path, asked.query, Headers(headers), read)
    answer = await handle(cluster, request)
    return answer if isinstance(answer, Response) else Response(200)
