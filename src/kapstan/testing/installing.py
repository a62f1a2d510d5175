"""Installing CRDs: from types, documents, files and folders; done when the API serves them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from kapstan.client import Client, NoKindMatch
from kapstan.client.interface import metadata_of
from kapstan.generate.crd import crds_of
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import ConfigError, NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource, resource_info

__all__ = ("Source", "install", "read_documents")

Document: TypeAlias = Mapping[str, Any]
Source: TypeAlias = type[Resource] | Document | Path | str

_CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


async def install(client: Client, sources: Iterable[Source]) -> None:
    """Apply every CRD among the sources, and wait until each of their versions can be listed."""
    definitions = list(_definitions(sources))
    for definition in definitions:
        await client.apply(dict(definition))
    for definition in definitions:
        await _served(client, definition)


def _definitions(sources: Iterable[Source]) -> Iterable[Document]:
    types: list[type[Resource]] = []
    for source in sources:
        if isinstance(source, type):
            if not resource_info(source).builtin:
                types.append(source)
        elif isinstance(source, Mapping):
            yield source
        else:
            yield from (found for found in read_documents(Path(source)) if found.get("kind") == _CRD.kind)
    yield from crds_of(types)


def read_documents(path: Path) -> Iterable[dict[str, Any]]:
    """The documents of a manifest, or of every manifest in a folder. ConfigError names the file."""
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    files = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml"), *path.rglob("*.json")]) if path.is_dir() else [path]
    for file in files:
        try:
            yield from load_yaml(file.read_bytes())
        except ValueError as error:
            raise ConfigError(f"{file}: {error}") from error


async def _served(client: Client, definition: Document) -> None:
    """Established is not yet served: a real API server takes a moment more to install its handlers."""
    name = definition["metadata"]["name"]
    async with client.watch(_CRD, fields={"metadata.name": name}) as events:
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and _established(event.object):
                break
    spec = definition["spec"]
    for version in spec["versions"]:
        if version["served"]:
            kind = GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"])
            await _listed(client, kind)


async def _listed(client: Client, kind: GroupVersionKind) -> None:
    while True:
        try:
            await client.list(metadata_of(kind), limit=1)
            return
        except (NotFound, NoKindMatch):
            await asyncio.sleep(0.02)  # there is nothing to watch: the handler is simply not there yet


def _established(definition: Mapping[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
