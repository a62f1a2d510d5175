"""Where definitions come from: files, folders, a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from kapstan.client import Client
from kapstan.generate.errors import GenerateError
from kapstan.generate.models.openapi import definitions_of
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("definitions_in", "definitions_of_cluster", "selected")

Document: TypeAlias = dict[str, Any]

_CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
# What kubectl notes for itself is not part of the definition.
_NOTES = ("kubectl.kubernetes.io/last-applied-configuration",)


def definitions_in(paths: Iterable[Path]) -> list[Document]:
    """The CRDs of files and folders, and the kinds of OpenAPI v3 documents among them."""
    found: list[Document] = []
    documents: list[Document] = []
    for path in paths:
        here = list(_documents(path))
        crds = [document for document in here if document.get("kind") == _CRD.kind]
        openapi = [document for document in here if str(document.get("openapi", "")).startswith("3.")]
        if not crds and not openapi:
            raise GenerateError(f"{path}: neither a CustomResourceDefinition nor an OpenAPI v3 document is in it")
        found += crds
        documents += openapi
    return [*found, *definitions_of(documents)]


async def definitions_of_cluster(client: Client) -> list[Document]:
    """The CRDs that a cluster has."""
    return [_cleaned(definition) async for definition in client.iterate(_CRD)]


def selected(definitions: Iterable[Document], groups: Iterable[str]) -> list[Document]:
    """Those of the groups, or all if none is named. GenerateError if there are none."""
    wanted, found = set(groups), list(definitions)
    chosen = [one for one in found if not wanted or one["spec"]["group"] in wanted]
    if not chosen:
        there = sorted({str(one["spec"]["group"]) for one in found})
        asked = f" of group {', '.join(sorted(wanted))}" if wanted else ""
        raise GenerateError(f"there are no kinds{asked}; groups that there are: {', '.join(there) or 'none'}")
    return chosen


def _documents(path: Path) -> Iterator[Document]:
    if not path.exists():
        raise GenerateError(f"{path}: there is no such file or folder")
    files = [path] if path.is_file() else sorted(_manifests(path.rglob))
    for file in files:
        try:
            yield from load_yaml(file.read_bytes())
        except ValueError as error:
            raise GenerateError(f"{file}: {error}") from error


def _manifests(rglob: Callable[[str], Iterable[Path]]) -> Iterator[Path]:
    for pattern in ("*.yaml", "*.yml", "*.json"):
        yield from rglob(pattern)


def _cleaned(definition: Document) -> Document:
    annotations = definition["metadata"].get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if key not in _NOTES}
    return {**definition, "metadata": {**definition["metadata"], "annotations": kept}}
