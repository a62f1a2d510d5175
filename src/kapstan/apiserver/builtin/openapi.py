"""OpenAPI v3 documents: what the server publishes at `/openapi/v3/...` for one group-version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.builtin.descriptions import described
from kapstan.apiserver.builtin.operations import group_version_paths

__all__ = ("document", "openapi", "referenced")

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_WATCH_EVENT = _META + "WatchEvent"
_PER_GROUP = (_META + "DeleteOptions", _WATCH_EVENT)
_GVKS = "x-kubernetes-group-version-kind"


def openapi(group: str, version: str) -> dict[str, Any]:
    """The document of a built-in group-version; KeyError if unknown.

    Built anew on every call: a server keeps the encoded bytes (a seventh of the memory) and not this.
    """
    found = facts.group_version(group, version)
    if found is None:
        raise KeyError(f"{group}/{version}")
    paths = group_version_paths(group, version, found.resources, facts.definition_name)
    watched = any("watch" in resource.verbs for resource in found.resources)
    return document(group, version, paths, {_WATCH_EVENT: facts.definition_sources()[_WATCH_EVENT]} if watched else {})


def document(
    group: str, version: str, paths: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A document with these paths, these schemas, and all built-in schemas that either refers to."""
    known = {**facts.definition_sources(), **schemas}
    names = referenced([paths, schemas], known) | schemas.keys()
    components = {name: described(name, _in_group(name, known[name], group, version)) for name in sorted(names)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": facts.kubernetes_version().lstrip("v").rpartition(".")[0]},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"BearerToken": _BEARER}},
    }


_BEARER = {"description": "Bearer token", "in": "header", "name": "authorization", "type": "apiKey"}


def referenced(roots: Iterable[Any], known: Mapping[str, Any]) -> set[str]:
    """The names of all schemas that these documents refer to, directly or through others."""
    found: set[str] = set()
    pending = [name for root in roots for name in _references(root)]
    while pending:
        name = pending.pop()
        if name not in found and name in known:
            found.add(name)
            pending.extend(_references(known[name]))
    return found


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix("#/components/schemas/")
            else:
                yield from _references(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _references(value)


def _in_group(name: str, schema: Mapping[str, Any], group: str, version: str) -> Mapping[str, Any]:
    """Some kinds are registered in every group-version; a document names its own beside core's."""
    if name not in _PER_GROUP or (group, version) == ("", "v1"):
        return schema
    kind = name.removeprefix(_META)
    return {**schema, _GVKS: [*schema[_GVKS], {"group": group, "kind": kind, "version": version}]}
