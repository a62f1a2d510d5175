"""CustomResourceDefinitions from types: one for each kind, with all of its versions, always the same to the byte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapstan.generate.errors import GenerateError
from kapstan.generate.schema import type_schema
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.model import Column, Resource, ResourceInfo, resource_info

__all__ = ("crd_of", "crds_of", "file_name")

Document = dict[str, Any]

_API_VERSION = "The group and version of the API that this object is written in, such as example.com/v1."
_KIND = "The kind of thing that this object is."


def crds_of(types: Iterable[type[Resource]], *, descriptions: bool = True) -> list[Document]:
    """The definitions of every custom kind among `types`, sorted by name; versions of one kind go together."""
    kinds: dict[GroupKind, list[type[Resource]]] = {}
    for cls in types:
        info = resource_info(cls)
        if not info.builtin:
            kinds.setdefault(info.group_kind, []).append(cls)
    definitions = [crd_of(*versions, descriptions=descriptions) for versions in kinds.values()]
    return sorted(definitions, key=lambda definition: str(definition["metadata"]["name"]))


def crd_of(*versions: type[Resource], descriptions: bool = True) -> Document:
    """The definition of one kind. GenerateError if its versions contradict each other."""
    infos = sorted((resource_info(cls) for cls in versions), key=lambda info: info.version)
    by_version = {resource_info(cls).version: cls for cls in versions}
    storage = _storage(infos)
    metadata: Document = {"name": f"{storage.plural}.{storage.group}"}
    if storage.labels:
        metadata["labels"] = dict(sorted(storage.labels.items()))
    if storage.annotations:
        metadata["annotations"] = dict(sorted(storage.annotations.items()))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": storage.group,
            "names": _names(storage),
            "scope": storage.scope,
            "versions": [_version(info, by_version[info.version], descriptions) for info in infos],
        },
    }


def file_name(definition: Document) -> str:
    """Where controller-gen would put it: `<group>_<plural>.yaml`."""
    spec = definition["spec"]
    return f"{spec['group']}_{spec['names']['plural']}.yaml"


def _storage(infos: list[ResourceInfo]) -> ResourceInfo:
    """The version that objects are stored in; with several versions exactly one says so."""
    storing = [info for info in infos if info.storage]
    if len(storing) != 1:
        named = ", ".join(info.version for info in infos)
        raise GenerateError(
            f"{infos[0].kind}.{infos[0].group}: exactly one of its versions ({named}) must be the storage version, "
            f"but {len(storing)} are; give the others @resource(..., storage=False)"
        )
    chosen = storing[0]
    for info in infos:
        if (info.plural, info.scope) != (chosen.plural, chosen.scope):
            raise GenerateError(
                f"{info.kind}.{info.group}: {info.version} and {chosen.version} differ in plural or scope"
            )
    return chosen


def _names(info: ResourceInfo) -> Document:
    names: Document = {"kind": info.kind, "listKind": info.list_kind, "plural": info.plural, "singular": info.singular}
    if info.categories:
        names["categories"] = list(info.categories)
    if info.short_names:
        names["shortNames"] = list(info.short_names)
    return names


def _version(info: ResourceInfo, cls: type[Resource], descriptions: bool) -> Document:
    version: Document = {
        "name": info.version,
        "schema": {"openAPIV3Schema": _root_schema(cls, descriptions)},
        "served": info.served,
        "storage": info.storage,
    }
    if info.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in info.columns]
    if info.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in info.selectable]
    if info.deprecated:
        version["deprecated"] = True
        if isinstance(info.deprecated, str):
            version["deprecationWarning"] = info.deprecated
    if subresources := _subresources(info):
        version["subresources"] = subresources
    return version


def _root_schema(cls: type[Resource], descriptions: bool) -> Document:
    schema = type_schema(cls, descriptions=descriptions)
    properties = schema["properties"]
    properties["apiVersion"] = {"type": "string"}
    properties["kind"] = {"type": "string"}
    properties["metadata"] = {"type": "object"}
    if descriptions:
        properties["apiVersion"]["description"] = _API_VERSION
        properties["kind"]["description"] = _KIND
    return schema


def _column(column: Column) -> Document:
    document: Document = {"jsonPath": column.json_path, "name": column.name, "type": column.type}
    for key, value in (("description", column.description), ("format", column.format), ("priority", column.priority)):
        if value:
            document[key] = value
    return document


def _subresources(info: ResourceInfo) -> Document:
    found: Document = {}
    if info.scale is not None:
        found["scale"] = {"specReplicasPath": info.scale.spec, "statusReplicasPath": info.scale.status}
        if info.scale.selector:
            found["scale"]["labelSelectorPath"] = info.scale.selector
    if "status" in info.subresources:
        found["status"] = {}
    return found
