"""OpenAPI v2: both servers publish the same definitions and operations, custom kinds included."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.integration.apiserver.strategy.conftest import Both
from tests.unit.apiserver.strategy.asking import Server

pytestmark = pytest.mark.real

Object = dict[str, Any]
PATH = "/openapi/v2"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
PROTOBUF = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf,application/json",
)
GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"

SCHEMA: Object = {
    "type": "object",
    "description": "A lamp.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["colour", "maybe", "port"],
            "properties": {
                "colour": {
                    "type": "string",
                    "description": "Of the light.",
                    "enum": ["red", "green"],
                    "default": "red",
                },
                "maybe": {"type": "string", "nullable": True, "maxLength": 5},
                "things": {"type": "array", "nullable": True, "items": {"type": "string"}},
                "port": {"x-kubernetes-int-or-string": True},
                "other": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^a",
                },
                "number": {"type": "number", "minimum": 1.5, "multipleOf": 0.5, "exclusiveMaximum": True, "maximum": 9},
                "when": {"type": "string", "format": "date-time"},
                "odd": {"type": "string", "format": "unheard-of"},
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"a": {"type": "string"}},
                },
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "loose": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
                "open": {"type": "object", "additionalProperties": True},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "atom": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "integer"}}},
                "either": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                    "x-kubernetes-validations": [{"rule": "self.a != 'x'", "message": "not x"}],
                },
            },
        },
        "status": {"type": "object", "properties": {"on": {"type": "boolean"}}},
    },
}
LOOSE: Object = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {"spec": {"type": "object"}},
}


def definition(plural: str, kind: str, scope: str, schema: Object, **version: Any) -> Object:
    listed = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.swagger.example.com"},
        "spec": {
            "group": "swagger.example.com",
            "names": {"plural": plural, "kind": kind, "listKind": f"{kind}List", "singular": kind.lower()},
            "scope": scope,
            "versions": [listed],
        },
    }


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
DEFINITIONS = (
    definition("lamps", "Lamp", "Namespaced", SCHEMA, subresources={"status": {}, "scale": SCALE}),
    definition("clouds", "Cloud", "Cluster", LOOSE),
)


async def published(server: Server) -> Object:
    """What a server publishes when it knows the custom kinds."""
    for one in DEFINITIONS:
        answer = await server.create(one)
        assert answer.status == 201, answer
    names = {f"com.example.swagger.v1.{kind}" for kind in ("Lamp", "Cloud")}
    async with asyncio.timeout(60):
        while True:
            document: Object = (await server.ask("GET", PATH)).body
            if names <= document["definitions"].keys():
                return document
            await asyncio.sleep(0.2)


def bare_of_texts(value: Any) -> Any:
    """Without descriptions, which are no facts."""
    if isinstance(value, dict):
        return {
            key: bare_of_texts(one) for key, one in value.items() if key != "description" or not isinstance(one, str)
        }
    return [bare_of_texts(one) for one in value] if isinstance(value, list) else value


def operations(document: Object) -> Object:
    """The paths with their parameters in place."""

    def parameters(listed: list[Object]) -> list[Object]:
        found = [document["parameters"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in listed]
        return sorted(bare_of_texts(found), key=lambda one: str(one["name"]))

    def operation(one: Object) -> Object:
        sets = {key: sorted(one.get(key, ())) for key in ("consumes", "produces")}
        return {**bare_of_texts(one), **sets, "parameters": parameters(one.get("parameters", []))}

    return {
        path: {method: parameters(one) if method == "parameters" else operation(one) for method, one in item.items()}
        for path, item in document["paths"].items()
    }


async def test_both_publish_the_same(both: Both) -> None:
    """All that we publish; streams, the deprecated watch paths and discovery above group-versions are not there."""
    ours, theirs = await both.ask(published)
    assert {key: ours[key] for key in ("swagger", "info", "security")} == {
        key: theirs[key] for key in ("swagger", "info", "security")
    }
    for name, found in ours["definitions"].items():
        expected = bare_of_texts(theirs["definitions"][name])
        found = bare_of_texts(found)
        if name in (META + "DeleteOptions", META + "WatchEvent"):  # theirs name versions that are not served
            assert {json.dumps(one, sort_keys=True) for one in found.pop(GROUP_VERSION_KIND)} <= {
                json.dumps(one, sort_keys=True) for one in expected.pop(GROUP_VERSION_KIND)
            }
        assert found == expected, name
    their_operations = operations(theirs)
    for path, item in operations(ours).items():
        assert item == their_operations[path], path
    lamp = "com.example.swagger.v1.Lamp"
    assert ours["definitions"][lamp]["description"] == theirs["definitions"][lamp]["description"] == "A lamp."


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "*/*",
        "application/*",
        "text/html, application/json;q=0.5",
        "text/plain",
        "application/yaml",
        *PROTOBUF,
    ],
)
async def test_both_answer_the_same_to_what_is_accepted(both: Both, accept: str) -> None:
    ours, theirs = await both.ask(lambda server: server.negotiate(PATH, accept))
    assert ours == theirs
