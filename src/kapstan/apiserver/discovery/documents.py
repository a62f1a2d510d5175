"""Discovery documents: the groups, versions and resources of a cluster, in the old form and in the aggregated one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from kapstan.apiserver.kinds import KindTable, ServedKind, Subresource
from kapstan.apiserver.registry.objects import encode
from kapstan.machinery.gvk import GroupVersion, version_priority

__all__ = ("Discovery", "discover")

Document = dict[str, Any]


class Aggregated(NamedTuple):
    """One of the two documents that tell everything, with the tag that changes when it does."""

    body: bytes
    etag: str


class Discovery:
    """The documents of one state of a cluster's kinds."""

    def __init__(self, kinds: KindTable) -> None:
        self._versions: dict[str, dict[str, list[ServedKind]]] = {}
        for kind in kinds:
            self._versions.setdefault(kind.gvk.group, {}).setdefault(kind.gvk.version, []).append(kind)
        self._aggregated: dict[bool, Aggregated] = {}

    def groups(self) -> Document:
        """`/apis`."""
        groups = [self._group(name) for name in self._versions if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Document | None:
        """`/apis/<group>`."""
        if name not in self._versions:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def resources(self, group_version: GroupVersion) -> Document | None:
        """`/api/v1` and `/apis/<group>/<version>`."""
        kinds = self._versions.get(group_version.group, {}).get(group_version.version)
        if kinds is None:
            return None
        resources = [entry for kind in kinds for entry in _resources(kind)]
        document = {"kind": "APIResourceList", "groupVersion": str(group_version), "resources": resources}
        return {"apiVersion": "v1", **document} if group_version.group else document

    def aggregated(self, *, core: bool) -> Aggregated:
        """Everything of the core group, or everything of all others."""
        found = self._aggregated.get(core)
        if found is None:
            groups = [self._aggregated_group(name) for name in self._versions if (name == "") is core]
            document = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": groups,
            }
            body = encode(document)
            found = self._aggregated[core] = Aggregated(body, f'"{hashlib.sha256(body).hexdigest().upper()}"')
        return found

    def _ordered(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first."""
        versions = self._versions[group]
        if any(kind.custom for kinds in versions.values() for kind in kinds):
            return sorted(versions, key=version_priority, reverse=True)
        return list(versions)

    def _group(self, name: str) -> Document:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._ordered(name)]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _aggregated_group(self, name: str) -> Document:
        versions = [
            {
                "version": version,
                "resources": [_aggregated_resource(kind) for kind in self._versions[name][version]],
                "freshness": "Current",
            }
            for version in self._ordered(name)
        ]
        return {"metadata": {"name": name} if name else {}, "versions": versions}


def discover(kinds: KindTable) -> Discovery:
    """The documents for the kinds as they are now; made anew when kinds come or go."""
    cached = kinds.documents
    if isinstance(cached, Discovery):
        return cached
    shared = kinds.shared
    found = discover(shared) if shared is not None and not kinds.generation else Discovery(kinds)
    kinds.documents = found
    return found


def _resources(kind: ServedKind) -> Iterable[Document]:
    entry: Document = {
        "name": kind.gvr.resource,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.gvk.kind,
        "verbs": kind.verbs,
    }
    if kind.short_names:
        entry["shortNames"] = kind.short_names
    if kind.categories:
        entry["categories"] = kind.categories
    if kind.handler is None and kind.verbs:
        entry["storageVersionHash"] = _storage_version_hash(kind)
    yield entry
    for subresource in kind.subresources.values():
        yield _subresource(kind, subresource)


def _subresource(kind: ServedKind, subresource: Subresource) -> Document:
    entry: Document = {
        "name": f"{kind.gvr.resource}/{subresource.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if subresource.gvk.group_version != kind.gvk.group_version:
        entry |= {"group": subresource.gvk.group, "version": subresource.gvk.version}
    return entry | {"kind": subresource.gvk.kind, "verbs": subresource.verbs}


def _storage_version_hash(kind: ServedKind) -> str:
    """Changes when the version in which a resource is stored does."""
    group, version, name = kind.storage.gvk
    digest = hashlib.sha256(f"{group}/{version}/{name}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _aggregated_resource(kind: ServedKind) -> Document:
    entry: Document = {
        "resource": kind.gvr.resource,
        "responseKind": kind.gvk._asdict(),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": kind.verbs,
    }
    if kind.short_names:
        entry["shortNames"] = kind.short_names
    if kind.categories:
        entry["categories"] = kind.categories
    if kind.subresources:
        entry["subresources"] = [
            {"subresource": found.name, "responseKind": found.gvk._asdict(), "verbs": found.verbs}
            for found in kind.subresources.values()
        ]
    return entry
