"""Facts of the built-in kinds: discovery and schemas of every group-version that kube-apiserver serves by default.

The data is generated (`tools/facts`), read on first use, immutable and shared by all logical clusters of a process.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kapstan.machinery.schema import Definitions

__all__ = (
    "GroupVersion",
    "Resource",
    "Subresource",
    "definition_name",
    "definition_sources",
    "definitions",
    "group_version",
    "group_versions",
    "kubernetes_version",
    "resources",
)

_DATA = Path(__file__).with_name("data")
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Registered in every group-version, custom ones included: `apps/v1 DeleteOptions` and `v1 DeleteOptions` are one type.
_IN_EVERY_GROUP = frozenset(("DeleteOptions", "WatchEvent"))


class Subresource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is served below an object, such as `status`; `version` is empty where the kind lives beside its parent's."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One resource of a group-version, as discovery describes it."""

    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    list_kind: str = ""
    """Only where it is not the kind with `List` behind it, which a CustomResourceDefinition may choose."""
    returns_deleted: bool = False
    """DELETE answers with the object, where most resources answer with a Status."""

    def subresource(self, name: str) -> Subresource | None:
        return next((found for found in self.subresources if found.name == name), None)


class GroupVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One group-version with its resources."""

    group: str
    version: str
    resources: tuple[Resource, ...]

    @property
    def api_version(self) -> str:
        """What objects carry as `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where the server serves it."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def resource(self, name: str) -> Resource | None:
        """The resource of that plural name."""
        return next((found for found in self.resources if found.name == name), None)


class _Discovery(msgspec.Struct, frozen=True, rename="camel"):
    kubernetes: str
    group_versions: tuple[GroupVersion, ...]


def kubernetes_version() -> str:
    """The release that the facts describe, such as `v1.36.3`."""
    return _discovery().kubernetes


def group_versions() -> tuple[GroupVersion, ...]:
    """All group-versions in the server's order: core, then groups by priority, in each the preferred version first."""
    return _discovery().group_versions


def group_version(group: str, version: str) -> GroupVersion | None:
    """One group-version; None if it is not built in. The core group is ""."""
    return _by_group_version().get((group, version))


def resources(group: str, version: str) -> tuple[Resource, ...]:
    """The resources of a group-version; none if it is not built in."""
    found = group_version(group, version)
    return found.resources if found else ()


def definitions() -> Definitions:
    """The schemas of all built-in kinds by definition name, compiled on demand."""
    return _definitions()


def definition_name(group: str, version: str, kind: str) -> str | None:
    """The definition of a kind (`io.k8s.api.apps.v1.Deployment`); None if it is not built in."""
    if kind in _IN_EVERY_GROUP:
        return _META + kind
    return _names_by_kind().get((group, version, kind))


@functools.cache
def definition_sources() -> Mapping[str, Mapping[str, Any]]:
    """The OpenAPI v3 component schemas as documents; never to be changed."""
    found: dict[str, dict[str, Any]] = _load("definitions.json.gz", dict[str, dict[str, Any]])
    return found


@functools.cache
def _definitions() -> Definitions:
    return Definitions(definition_sources())


@functools.cache
def _names_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, source in definition_sources().items()
        for gvk in source.get("x-kubernetes-group-version-kind", ())
    }


@functools.cache
def _discovery() -> _Discovery:
    found: _Discovery = _load("resources.json.gz", _Discovery)
    return found


@functools.cache
def _by_group_version() -> dict[tuple[str, str], GroupVersion]:
    return {(found.group, found.version): found for found in group_versions()}


def _load(name: str, type: Any) -> Any:
    return msgspec.json.decode(gzip.decompress((_DATA / name).read_bytes()), type=type)
