"""Component schemas of a custom resource, completed as kube-apiserver completes them before it publishes them.

A structural schema leaves out what every object has. Published, it names `apiVersion`, `kind` and `metadata`, on the
object and on every embedded one, and is joined by the schema of its list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.builtin.descriptions import API_VERSION, KIND, METADATA
from kapstan.apiserver.builtin.operations import schema_reference

__all__ = ("custom_definition_name", "custom_schemas", "schema_name")

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """`cluster.x-k8s.io/v1beta2 Cluster` → `io.x-k8s.cluster.v1beta2.Cluster`."""
    return ".".join((*reversed(group.split(".")), version, kind))


def schema_name(group: str, version: str, kind: str) -> str:
    """The definition of any kind: the built-in one where there is one, else a custom resource's."""
    return facts.definition_name(group, version, kind) or custom_definition_name(group, version, kind)


def custom_schemas(
    group: str,
    version: str,
    kind: str,
    schema: Mapping[str, Any] | None,
    *,
    list_kind: str = "",
    selectable_fields: Sequence[str] = (),
    older: bool = False,
) -> dict[str, dict[str, Any]]:
    """The schemas of a kind and its list by definition name; `selectable_fields` are JSON paths (`.spec.colour`).

    `older` is for OpenAPI v2, which knows no alternatives.
    """
    list_kind = list_kind or f"{kind}List"
    own: dict[str, Any] = _completed(schema, older) if schema is not None else {"type": "object"}
    if schema is not None:
        own["properties"] = {**own.get("properties", {}), **_object_properties("ObjectMeta")}
    items = {"type": "array", "items": schema_reference(custom_definition_name(group, version, kind))}
    listed: dict[str, Any] = {
        "type": "object",
        "required": ["items"],
        "properties": {**_object_properties("ListMeta"), "items": items},
    }
    found: dict[str, dict[str, Any]] = {}
    for name, part in ((kind, own), (list_kind, listed)):
        part["x-kubernetes-group-version-kind"] = [{"group": group, "kind": name, "version": version}]
        if selectable_fields:
            paths = [{"fieldPath": path.removeprefix(".")} for path in selectable_fields]
            part["x-kubernetes-selectable-fields"] = paths
        found[custom_definition_name(group, version, name)] = part
    return found


def _completed(schema: Mapping[str, Any], older: bool) -> dict[str, Any]:
    """A copy in which embedded resources name their metadata and int-or-string values their two types."""
    part = dict(schema)
    for keyword in ("items", "additionalProperties"):
        if isinstance(part.get(keyword), Mapping):
            part[keyword] = _completed(part[keyword], older)
    if "properties" in part:
        part["properties"] = {name: _completed(below, older) for name, below in part["properties"].items()}
    loose = older and part.get("x-kubernetes-preserve-unknown-fields")
    if part.get("x-kubernetes-embedded-resource") and not loose:
        part["properties"] = {**part.get("properties", {}), **_object_properties("ObjectMeta")}
        required = list(part.get("required", ()))
        part["required"] = required + [name for name in ("kind", "apiVersion") if name not in required]
    if part.get("x-kubernetes-int-or-string") and not older:
        _name_both_types(part)
    return part


def _name_both_types(part: dict[str, Any]) -> None:
    every = part.get("allOf") or [{}]
    if part.get("anyOf") == _INT_OR_STRING or every[0].get("anyOf") == _INT_OR_STRING:
        return
    if "anyOf" in part:
        part["allOf"] = [{"anyOf": _INT_OR_STRING}, *part.get("allOf", ())]
    else:
        part["anyOf"] = _INT_OR_STRING


def _object_properties(metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": {"type": "string", "description": API_VERSION},
        "kind": {"type": "string", "description": KIND},
        "metadata": {"allOf": [schema_reference(_META + metadata)], "description": METADATA},
    }
