"""Types from CRDs, from a live cluster and from OpenAPI documents: they generate the same CRDs again."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kapstan.generate.crd import crds_of
from kapstan.generate.models import models_of
from kapstan.generate.models.openapi import definitions_of
from kapstan.generate.models.sources import definitions_in, definitions_of_cluster, selected
from kapstan.generate.schema import without_descriptions
from kapstan.machinery.errors import NotFound
from kapstan.machinery.model import Resource
from kapstan.testing import Environment

ROOT = Path(__file__).parents[3]
ZOO = ROOT / "tests/unit/generate/zoo.yaml"
SAMPLES = sorted(ROOT.glob("samples/*/config/crd/bases"))
# Definitions of other projects, which are not ours to copy: Cluster API's, OpenStack's and the Helm add-on's.
OTHERS = ROOT.parent / "shared/crds"


def types_of(definitions: list[dict[str, Any]]) -> list[type[Resource]]:
    """Generate the models of the definitions, import them, and give the kinds."""
    found: list[type[Resource]] = []
    for (group, version), source in models_of(definitions).items():
        name = f"modelled_{group}_{version}".replace(".", "_").replace("-", "_")
        module = sys.modules[name] = ModuleType(name)
        exec(compile(source, name, "exec"), module.__dict__)
        found += [value for value in vars(module).values() if isinstance(value, type) and "__resource__" in vars(value)]
    return found


def comparable(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition without prose, what a server adds to it, and what says nothing."""
    kept = {key: definition[key] for key in ("apiVersion", "kind", "spec")}
    metadata = definition["metadata"]
    kept["metadata"] = {key: metadata[key] for key in ("name", "labels", "annotations") if metadata.get(key)}
    found: dict[str, Any] = without_descriptions(kept)
    for added in ("conversion", "preserveUnknownFields"):
        found["spec"].pop(added, None)
    for version in found["spec"]["versions"]:
        if not version.get("subresources"):
            version.pop("subresources", None)
    return found


async def published(env: Environment, path: str, kind: str) -> dict[str, Any]:
    """An OpenAPI document, which a real API server has, and has of a new kind, a moment after it serves the kind."""
    async with asyncio.timeout(60):
        while True:
            with suppress(NotFound):
                document: dict[str, Any] = json.loads(await env.client.request("GET", f"/openapi/v3/{path}"))
                if any(name.rpartition(".")[2] == kind for name in document["components"]["schemas"]):
                    return document
            await asyncio.sleep(0.05)  # there is nothing to watch


@pytest.mark.real
@pytest.mark.parametrize("paths", [[OTHERS], [ZOO], SAMPLES], ids=["others", "zoo", "samples"])
async def test_definitions_round_trip_and_the_server_accepts_them(real: Environment, paths: list[Path]) -> None:
    """Those of other projects, the zoo, which has every keyword, and our own."""
    if paths == [OTHERS] and not OTHERS.exists():
        pytest.skip("the definitions of other projects are not beside this checkout, in ../shared/crds")
    definitions = sorted(definitions_in(paths), key=lambda one: str(one["metadata"]["name"]))
    again = crds_of(types_of(definitions))
    for before, after in zip(definitions, again, strict=True):
        assert comparable(after) == comparable(before), before["metadata"]["name"]
        await real.client.apply(after, dry_run=True)


async def test_the_definitions_of_a_cluster_are_read_without_what_the_server_added(env: Environment) -> None:
    await env.install(ZOO)
    there = selected(await definitions_of_cluster(env.client), ["zoo.kapstan.dev"])
    (written,) = [one for one in there if one["spec"]["names"]["kind"] == "Animal"]
    (expected,) = definitions_in([ZOO])
    assert comparable(crds_of(types_of([written]))[0]) == comparable(expected)


async def test_an_openapi_document_gives_types_with_the_same_schema(env: Environment) -> None:
    """What an API server publishes of a CRD is enough to write types that mean the same."""
    await env.install(ZOO)
    document = await published(env, "apis/zoo.kapstan.dev/v1", "Animal")
    (found,) = [one for one in definitions_of([document]) if one["spec"]["names"]["kind"] == "Animal"]
    (expected,) = definitions_in([ZOO])
    (version,) = comparable(crds_of(types_of([found]))[0])["spec"]["versions"]
    (wanted,) = [one for one in comparable(expected)["spec"]["versions"] if one["name"] == "v1"]
    assert version["schema"] == wanted["schema"]
    assert version["subresources"] == {"status": {}}
    assert found["spec"]["scope"] == "Cluster"


async def test_built_in_kinds_can_be_modelled_from_openapi_too(env: Environment) -> None:
    document = await published(env, "apis/apps/v1", "Deployment")
    kinds = {cls.__name__: cls for cls in types_of(definitions_of([document]))}
    assert {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} <= kinds.keys()
