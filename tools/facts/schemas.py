"""Schemas and discovery: what the embedded server has to know of every built-in kind.

Facts only: names, types, requirements, list types, patch strategies, formats and defaults. Descriptions stay behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import enums
import source

# These two differ from document to document only in this list: each names the group-version it was published with.
_IN_EVERY_GROUP = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
)
_GVKS = "x-kubernetes-group-version-kind"


def definitions(served: Iterable[source.GroupVersion]) -> dict[str, Any]:
    """All component schemas of these group-versions by name, without descriptions."""
    found: dict[str, Any] = {}
    for gv in served:
        for name, published in source.openapi(gv)["components"]["schemas"].items():
            schema = without_descriptions(published)
            if name in _IN_EVERY_GROUP:
                schema[_GVKS] = [gvk for gvk in schema[_GVKS] if gvk["group"] == "" and gvk["version"] == "v1"]
            if found.setdefault(name, schema) != schema:
                raise SystemExit(f"{name} differs between documents; the facts hold one schema a name")
    enums.add(found)
    return dict(sorted(found.items()))


def without_descriptions(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without prose; a *property* called `description` is no prose."""
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        match keyword:
            case "description":
                continue
            case "properties":
                kept[keyword] = {name: without_descriptions(part) for name, part in value.items()}
            case "items" | "additionalProperties" | "not" if isinstance(value, dict):
                kept[keyword] = without_descriptions(value)
            case "allOf" | "anyOf" | "oneOf":
                kept[keyword] = [without_descriptions(part) for part in value]
            case _:
                kept[keyword] = value
    return kept


def group_versions(served: Iterable[source.GroupVersion]) -> list[dict[str, Any]]:
    """Discovery: every group-version with its resources, and under each resource its subresources."""
    return [{"group": gv.group, "version": gv.version, "resources": _resources(gv)} for gv in served]


def _resources(gv: source.GroupVersion) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    paths = source.openapi(gv)["paths"]
    for entry in source.discovery(gv)["resources"]:
        name, _, subresource = entry["name"].partition("/")
        if subresource:
            found[name].setdefault("subresources", []).append(_subresource(subresource, entry))
        else:
            found[name] = _resource(entry)
            if _returns_deleted(gv, entry, paths):
                found[name]["returnsDeleted"] = True
    return list(found.values())


def _returns_deleted(gv: source.GroupVersion, entry: Mapping[str, Any], paths: Mapping[str, Any]) -> bool:
    """Whether DELETE answers with the object (as for a Pod) and not with a Status."""
    if "delete" not in entry["verbs"]:
        return False
    root = f"/apis/{gv.group}/{gv.version}" if gv.group else f"/api/{gv.version}"
    scope = "/namespaces/{namespace}" if entry["namespaced"] else ""
    answer = paths[f"{root}{scope}/{entry['name']}/{{name}}"]["delete"]["responses"]["200"]["content"]
    return not answer["application/json"]["schema"]["$ref"].endswith(".Status")


def _resource(entry: Mapping[str, Any]) -> dict[str, Any]:
    fact = {key: entry[key] for key in ("name", "kind", "namespaced", "verbs")}
    fact["singular"] = entry["singularName"]
    for key in ("shortNames", "categories"):
        if entry.get(key):
            fact[key] = entry[key]
    return fact


def _subresource(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    fact = {"name": name, "kind": entry["kind"], "verbs": entry["verbs"]}
    # Present only where the kind lives elsewhere: Scale and Eviction.
    for key in ("group", "version"):
        if entry.get(key):
            fact[key] = entry[key]
    return fact
