"""Installing CRDs: from types, documents, files and folders; done when the API serves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from kapstan.client import Client, definitions
from kapstan.generate.crd import crds_of
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.model import Resource, resource_info

__all__ = ("Source", "install", "read_documents")

Document: TypeAlias = Mapping[str, Any]
Source: TypeAlias = type[Resource] | Document | Path | str

_KIND = "CustomResourceDefinition"


async def install(client: Client, sources: Iterable[Source]) -> None:
    """Install every CRD among the sources."""
    await definitions.install(client, _definitions(sources))


def _definitions(sources: Iterable[Source]) -> Iterable[Document]:
    types: list[type[Resource]] = []
    for source in sources:
        if isinstance(source, type):
            if not resource_info(source).builtin:
                types.append(source)
        elif isinstance(source, Mapping):
            yield source
        else:
            yield from (found for found in read_documents(Path(source)) if found.get("kind") == _KIND)
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
