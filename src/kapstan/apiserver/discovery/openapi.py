"""OpenAPI v3: an index of documents by group-version, each under a URL that changes when its content does; and v2.

Documents are built when somebody asks and kept compressed. Those of built-in group-versions are shared by all logical
clusters; one with custom kinds belongs to its cluster and lives as long as its kinds stay as they are.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec

from kapstan.apiserver import builtin
from kapstan.apiserver.builtin import facts
from kapstan.apiserver.kinds import KindTable, ServedKind
from kapstan.apiserver.registry.objects import encode
from kapstan.machinery.gvk import GroupVersion
from kapstan.version import __version__

__all__ = ("OpenAPI", "openapi_of")


class OpenAPI:
    """The documents of one state of a cluster's kinds."""

    def __init__(self, kinds: KindTable) -> None:
        self._kinds: dict[GroupVersion, list[ServedKind]] = {}
        for kind in kinds:
            self._kinds.setdefault(kind.gvk.group_version, []).append(kind)
        self._hashes = {found.path.removeprefix("/"): _hash(found, kinds) for found, kinds in self._kinds.items()}
        self._paths = {found.path.removeprefix("/"): found for found in self._kinds}
        self._custom: dict[GroupVersion, bytes] = {}
        self._swagger: tuple[bytes, str] | None = None
        self._swagger_protobuf: bytes | None = None

    def index(self) -> dict[str, Any]:
        """`/openapi/v3`."""
        return {"paths": {path: {"serverRelativeURL": self.url(path)} for path in sorted(self._paths)}}

    def url(self, path: str) -> str:
        return f"/openapi/v3/{quote(path)}?hash={self._hashes[path]}"

    def hash(self, path: str) -> str | None:
        """The hash of a document, such as of `apis/apps/v1`; None if there is no such document."""
        return self._hashes.get(path)

    def document(self, path: str) -> bytes:
        """A document as compressed JSON."""
        group_version = self._paths[path]
        if builtin.group_version(*group_version) is not None:
            return _builtin_document(*group_version)
        found = self._custom.get(group_version)
        if found is None:
            found = self._custom[group_version] = _compressed(self._custom_document(group_version))
        return found

    def swagger(self) -> tuple[bytes, str]:
        """The document of everything in OpenAPI v2, as compressed JSON, and its hash."""
        if self._swagger is None:
            body = encode(self._swagger_document())
            compressed = gzip.compress(body, compresslevel=5, mtime=0)
            self._swagger = compressed, hashlib.sha512(body).hexdigest().upper()
        return self._swagger

    def swagger_protobuf(self) -> bytes:
        """The same as compressed protobuf."""
        if self._swagger_protobuf is None:
            document = msgspec.json.decode(gzip.decompress(self.swagger()[0]))
            self._swagger_protobuf = gzip.compress(builtin.encode_swagger(document), compresslevel=5, mtime=0)
        return self._swagger_protobuf

    def _custom_document(self, group_version: GroupVersion) -> dict[str, Any]:
        schemas: dict[str, Any] = {}
        for kind in self._kinds[group_version]:
            schemas |= builtin.custom_schemas(*kind.gvk, kind.schema.source, **_published(kind))
        return builtin.document(*group_version, self._paths_of(group_version), schemas)

    def _swagger_document(self) -> dict[str, Any]:
        paths: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        for group_version, kinds in self._kinds.items():
            custom, found = kinds[0].custom, self._paths_of(group_version)
            paths |= {path: builtin.path_item(item, custom=custom) for path, item in found.items()}
            for kind in kinds:
                if kind.custom:
                    definitions |= builtin.custom_definitions(*kind.gvk, kind.schema.source, **_published(kind))
        return builtin.swagger(paths, definitions, [(one.group, one.version) for one in builtin.group_versions()])

    def _paths_of(self, group_version: GroupVersion) -> dict[str, Any]:
        known = builtin.group_version(*group_version)
        if known is not None:
            return builtin.group_version_paths(*group_version, known.resources, builtin.definition_name)
        paths: dict[str, Any] = {}
        for kind in self._kinds[group_version]:
            paths |= builtin.resource_paths(*group_version, _facts_of(kind), builtin.schema_name, custom=True)
        return paths


def openapi_of(kinds: KindTable) -> OpenAPI:
    """The documents for the kinds as they are now."""
    cached = kinds.openapi
    if isinstance(cached, OpenAPI):
        return cached
    shared = kinds.shared
    found = openapi_of(shared) if shared is not None and not kinds.generation else OpenAPI(kinds)
    kinds.openapi = found
    return found


@cache
def _builtin_document(group: str, version: str) -> bytes:
    return _compressed(builtin.openapi(group, version))


def _compressed(document: dict[str, Any]) -> bytes:
    return gzip.compress(encode(document), compresslevel=5, mtime=0)


def _hash(group_version: GroupVersion, kinds: list[ServedKind]) -> str:
    """Built-in documents change with the program, custom ones with their definitions."""
    digest = hashlib.sha512(f"{facts.kubernetes_version()} {__version__} {group_version}".encode())
    for kind in kinds:
        if kind.custom:
            digest.update(encode([kind.gvk, kind.gvr, kind.verbs, sorted(kind.subresources), kind.schema.source]))
    return digest.hexdigest().upper()


def _published(kind: ServedKind) -> dict[str, Any]:
    """What is published of a custom kind beside its schema."""
    return {
        "list_kind": kind.list_kind,
        "selectable_fields": [f".{path}" for path in kind.strategy.selectable_fields],
    }


def _facts_of(kind: ServedKind) -> facts.Resource:
    return facts.Resource(
        name=kind.gvr.resource,
        singular=kind.singular,
        kind=kind.gvk.kind,
        namespaced=kind.namespaced,
        verbs=kind.verbs,
        short_names=kind.short_names,
        categories=kind.categories,
        subresources=tuple(
            facts.Subresource(
                name=found.name,
                kind=found.gvk.kind,
                verbs=found.verbs,
                group=found.gvk.group,
                version=found.gvk.version,
            )
            for found in kind.subresources.values()
        ),
    )
