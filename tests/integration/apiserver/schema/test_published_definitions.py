"""Definitions that others publish, judged by us and by Kubernetes' own libraries, and random objects of their kinds.

They are Cluster API's, as our types describe them, and those in the folder that KAPSTAN_DEFINITIONS names.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tests.integration.apiserver.exploring import EXPLORE
from tests.integration.programs import Oracle
from tests.unit.apiserver.schema.replies import comparable, reply

from kapstan.cluster.api import core
from kapstan.generate.crd import crds_of

pytestmark = pytest.mark.real

FOLDER = os.environ.get("KAPSTAN_DEFINITIONS")
OWN = crds_of((getattr(core, name) for name in core.__all__), descriptions=False)
FILES = sorted(Path(FOLDER).rglob("*.yaml")) if FOLDER else []
OTHERS = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in FILES]
DEFINITIONS = [pytest.param(one, id=one["metadata"]["name"]) for one in (*OWN, *OTHERS)]
OBJECTS_PER_VERSION = 3 * max(EXPLORE, 1)

TEXTS = ("", "a", "a-b", "A b", "10.0.0.0/8", "10.0.0.1", "2020-01-01T00:00:00Z", "5m", "v1.30.0", "x" * 70, "10%")


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_published_definitions_are_judged_alike(oracle: Oracle, definition: dict[str, Any]) -> None:
    stored = [version["name"] for version in definition["spec"]["versions"] if version["storage"]]
    question = {"op": "crd", "object": {**definition, "status": {"storedVersions": stored}}}
    assert reply(question) == comparable(oracle.ask(question)) == {"errors": []}


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_objects_of_published_kinds_are_judged_alike(oracle: Oracle, definition: dict[str, Any]) -> None:
    random = Random(definition["metadata"]["name"])
    for version in definition["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        for number in range(OBJECTS_PER_VERSION):
            old, new = (resource(schema, random, faults=0.02 * (number % 3)) for _ in range(2))
            for fields in ({}, {"old": old}, {"old": old, "status": True}):
                question = {"op": "resource", "schema": schema, "object": new, **fields}
                assert reply(question) == comparable(oracle.ask(question))


def resource(schema: dict[str, Any], random: Random, faults: float) -> dict[str, Any]:
    """An object that has most of what a schema requires, some of what it allows, and a few faults."""
    made = value(schema, random, faults)
    metadata = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"}
    return {**(made if isinstance(made, dict) else {}), "apiVersion": "a/v1", "kind": "A", "metadata": metadata}


def value(schema: dict[str, Any], random: Random, faults: float, depth: int = 0) -> Any:
    if random.random() < faults:
        return random.choice([None, 1, 1.5, "x", True, [], {}, [{}], {"unknown": 1}])
    if (choices := schema.get("enum")) is not None:
        return random.choice(choices)
    match schema.get("type"):
        case "object":
            return fields(schema, random, faults, depth)
        case "array":
            count = random.randint(schema.get("minItems", 0), 2) if schema.get("minItems", 0) <= 2 else 0
            return [value(schema["items"], random, faults, depth + 1) for _ in range(count)]
        case "string":
            return random.choice(TEXTS)
        case "integer":
            return random.choice([0, 1, 10, -1, 65536, 2**40])
        case "number":
            return random.choice([0, 1.5, -3])
        case "boolean":
            return random.random() < 0.5
    return random.choice([1, "10%", {"a": 1}])


def fields(schema: dict[str, Any], random: Random, faults: float, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, child in (schema.get("properties") or {}).items():
        likelihood = 0.97 if name in schema.get("required", ()) or depth == 0 else 0.25
        if random.random() < likelihood:
            made[name] = value(child, random, faults, depth + 1)
    if isinstance(additional := schema.get("additionalProperties"), dict) and random.random() < 0.5:
        made[random.choice(TEXTS)] = value(additional, random, faults, depth + 1)
    return made
