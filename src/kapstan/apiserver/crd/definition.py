"""Definitions: a CustomResourceDefinition as the kinds that it stands for, one for each version.

Schemas are compiled once for each text: any number of clusters that install the same definitions share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from kapstan.apiserver.crd.intake import CustomIntake
from kapstan.apiserver.crd.strategy import CustomStatusStrategy, CustomStrategy
from kapstan.apiserver.kinds import Converter, ServedKind, StorageKind, Subresource
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.schema.custom import CustomResourceSchema
from kapstan.machinery.gvk import GroupResource, GroupVersionKind, version_priority

__all__ = ("CRDS", "condition", "is_established", "kinds_of")

Object = dict[str, Any]

CRDS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")


def condition(crd: Object, type: str) -> Object | None:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return next((found for found in conditions if found.get("type") == type), None)


def is_true(crd: Object, type: str) -> bool:
    found = condition(crd, type)
    return found is not None and found.get("status") == "True"


def is_established(crd: Object) -> bool:
    return is_true(crd, "Established")


def kinds_of(crd: Object, converter: Converter | None) -> dict[str, tuple[ServedKind, bool]]:
    """The kinds of an established definition by version, and whether each is served."""
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    storage = StorageKind(
        GroupResource(spec["group"], names["plural"]),
        GroupVersionKind(spec["group"], stored, names["kind"]),
        namespaced=spec["scope"] == "Namespaced",
        converter=converter,
    )
    found = {version["name"]: _kind(crd, version, storage) for version in spec["versions"]}
    for name, kind in found.items():
        kind.siblings = tuple(other for version, other in found.items() if version != name)
    served = {version["name"]: bool(version.get("served")) for version in spec["versions"]}
    return {name: (kind, served[name]) for name, kind in found.items()}


def _kind(crd: Object, version: Object, storage: StorageKind) -> ServedKind:
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    gvk = GroupVersionKind(spec["group"], version["name"], names["kind"])
    schema = _schema(version, preserve=bool(spec.get("preserveUnknownFields")))
    strategy = CustomStrategy(version)
    subresources = version.get("subresources") or {}
    return ServedKind(
        gvk,
        names["plural"],
        namespaced=storage.namespaced,
        strategy=strategy,
        schema=schema.schema,
        intake=CustomIntake(schema, subresources.get("scale")),
        storage=storage,
        verbs=_VERBS_WHILE_TERMINATING if is_true(crd, "Terminating") else _VERBS,
        singular=names.get("singular") or "",
        list_kind=names.get("listKind") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(gvk, subresources, strategy),
        custom=True,
        deprecation=_deprecation(gvk, version, spec["versions"]),
    )


def _schema(version: Object, *, preserve: bool) -> CustomResourceSchema:
    source = (version.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True}
    return _compiled(msgspec.json.encode(source, order="deterministic"), preserve)


@lru_cache(maxsize=1024)
def _compiled(source: bytes, preserve: bool) -> CustomResourceSchema:
    return CustomResourceSchema(msgspec.json.decode(source), preserve_unknown=preserve)


def _subresources(
    gvk: GroupVersionKind, declared: Mapping[str, Any], strategy: CustomStrategy
) -> dict[str, Subresource]:
    found: dict[str, Subresource] = {}
    if "status" in declared:
        status = CustomStatusStrategy(strategy)
        found["status"] = Subresource(name="status", gvk=gvk, verbs=_SUBRESOURCE_VERBS, strategy=status)
    scale = declared.get("scale")
    if scale is not None:
        endpoint = ScaleEndpoint(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "", custom=True
        )
        found["scale"] = Subresource(name="scale", gvk=_SCALE, verbs=_SUBRESOURCE_VERBS, scale=endpoint)
    return found


def _deprecation(gvk: GroupVersionKind, version: Object, versions: list[Object]) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    text = f"{gvk.api_version} {gvk.kind} is deprecated"
    alive = [other["name"] for other in versions if other.get("served") and not other.get("deprecated")]
    newer = [name for name in alive if version_priority(name) > version_priority(gvk.version)]
    best = max(newer, key=version_priority, default="")
    return f"{text}; use {gvk.group}/{best} {gvk.kind}" if best else text
