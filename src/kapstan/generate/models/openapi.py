"""Definitions from an OpenAPI v3 document of an API server, in the shape of CRDs.

A document is of one group and version. It says less than a CRD does (no columns, no storage version), but the schema
is whole: references are resolved, and where a type contains itself, what is inside may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from kapstan.generate.errors import GenerateError
from kapstan.machinery.gvk import GroupKind, GroupVersionKind, version_priority

__all__ = ("definitions_of",)

Document: TypeAlias = dict[str, Any]

_OBJECT = re.compile(r"/(?P<plural>[^/{}]+)/\{name\}(?:/(?P<subresource>[a-z]+))?$")
_GVK = "x-kubernetes-group-version-kind"
_ANYTHING: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions_of(documents: Iterable[Document]) -> list[Document]:
    """A definition for each kind; versions that several documents have of it go together."""
    found: dict[GroupKind, Document] = {}
    for document in documents:
        for definition in _kinds(document):
            spec = definition["spec"]
            group_kind = GroupKind(spec["group"], spec["names"]["kind"])
            known = found.setdefault(group_kind, definition)
            if known is not definition:
                known["spec"]["versions"] += spec["versions"]
    for definition in found.values():
        _choose_storage(definition["spec"]["versions"])
    return [found[key] for key in sorted(found)]


def _choose_storage(versions: list[Document]) -> None:
    """The document does not say which version is stored; the preferred one is as good as any."""
    versions.sort(key=lambda version: version_priority(str(version["name"])))
    for version in versions:
        version["storage"] = version is versions[-1]


def _kinds(document: Document) -> Iterable[Document]:
    schemas: Document = document.get("components", {}).get("schemas", {})
    by_kind = {gvk: name for name, schema in schemas.items() for gvk in _gvks(schema)}
    served = _served(document)
    if not served:
        raise GenerateError("this OpenAPI document serves no kinds: expected one of /openapi/v3/apis/<group>/<version>")
    for gvk, names in served.items():
        if gvk in by_kind:
            schema = _resolved(schemas[by_kind[gvk]], schemas, ())
            schema.pop(_GVK, None)
            schema["properties"]["metadata"] = {"type": "object"}
            yield _definition(gvk, names, schema)


class _Names:
    """How the paths of a document serve a kind."""

    def __init__(self, plural: str, namespaced: bool) -> None:
        self.plural, self.namespaced = plural, namespaced
        self.subresources: set[str] = set()


def _served(document: Document) -> dict[GroupVersionKind, _Names]:
    found: dict[GroupVersionKind, _Names] = {}
    subresources: dict[str, set[str]] = {}
    for path, item in sorted(document.get("paths", {}).items()):
        match = _OBJECT.search(path)
        operation = item.get("get") or item.get("patch")
        if match is None or operation is None:
            continue
        if match["subresource"]:
            subresources.setdefault(match["plural"], set()).add(match["subresource"])
        elif _GVK in operation:
            found[_gvk(operation[_GVK])] = _Names(match["plural"], "{namespace}" in path)
    for names in found.values():
        names.subresources = subresources.get(names.plural, set())
    return found


def _definition(gvk: GroupVersionKind, names: _Names, schema: Document) -> Document:
    version: Document = {"name": gvk.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if "status" in names.subresources:
        version["subresources"] = {"status": {}}
    return {
        "metadata": {"name": f"{names.plural}.{gvk.group}"},
        "spec": {
            "group": gvk.group,
            "names": {"kind": gvk.kind, "plural": names.plural, "singular": gvk.kind.lower()},
            "scope": "Namespaced" if names.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _resolved(schema: Any, schemas: Document, inside: tuple[str, ...]) -> Any:
    """A schema without references. What contains itself may be anything from there on."""
    if isinstance(schema, list):
        return [_resolved(item, schemas, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref") or _only_reference(schema)
    if not reference:
        return _as_declared({key: _resolved(value, schemas, inside) for key, value in schema.items()})
    name = str(reference).rpartition("/")[2]
    if name in inside:
        return dict(_ANYTHING)
    own = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    target = _resolved(schemas[name], schemas, (*inside, name))
    target.pop(_GVK, None)
    return {**target, **own}


def _as_declared(schema: Document) -> Document:
    """A server publishes of an embedded object what every object has; its CRD did not say that."""
    if not schema.get("x-kubernetes-embedded-resource"):
        return schema
    every = ("apiVersion", "kind", "metadata")
    parts: Document = {
        "properties": {key: part for key, part in schema.get("properties", {}).items() if key not in every},
        "required": [name for name in schema.get("required", ()) if name not in every],
    }
    rest = {key: value for key, value in schema.items() if key not in parts}
    return {**rest, **{key: value for key, value in parts.items() if value}}


def _only_reference(schema: Document) -> str:
    """`allOf` with a single reference is how a reference comes with a description of its own."""
    parts = schema.get("allOf")
    return str(parts[0]["$ref"]) if isinstance(parts, list) and len(parts) == 1 and "$ref" in parts[0] else ""


def _gvks(schema: Document) -> list[GroupVersionKind]:
    return [_gvk(one) for one in schema.get(_GVK, ())]


def _gvk(one: Document) -> GroupVersionKind:
    return GroupVersionKind(one["group"], one["version"], one["kind"])
