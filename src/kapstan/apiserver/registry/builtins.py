"""Built-in kinds as served kinds: made once per process from facts and strategies, shared by all clusters."""

from __future__ import annotations

from functools import cache, partial

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.kinds import KindTable, ServedKind, StorageKind, Subresource
from kapstan.apiserver.registry.intake import BuiltinIntake
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.strategy.base import Strategy
from kapstan.apiserver.strategy.catalog import Endpoints, endpoints
from kapstan.apiserver.strategy.conversion import CONVERTERS
from kapstan.machinery.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from kapstan.machinery.schema import Schema

__all__ = ("builtin_kinds",)

# One collection under two names: events are stored as the core group's, whichever way they come.
_STORED_ELSEWHERE = {GroupResource("events.k8s.io", "events"): GroupVersionKind("", "v1", "Event")}


@cache
def builtin_kinds() -> KindTable:
    """Every built-in kind."""
    table = KindTable()
    storages: dict[GroupResource, StorageKind] = {}
    for group_version in facts.group_versions():
        for resource in group_version.resources:
            table.add(_served(group_version, resource, storages))
    return table


def _served(
    group_version: facts.GroupVersion, resource: facts.Resource, storages: dict[GroupResource, StorageKind]
) -> ServedKind:
    gvk = GroupVersionKind(group_version.group, group_version.version, resource.kind)
    gvr = GroupVersionResource(group_version.group, group_version.version, resource.name)
    found = endpoints(gvr, resource)
    return ServedKind(
        gvk,
        resource.name,
        namespaced=resource.namespaced,
        strategy=found.strategy,
        schema=partial(_schema, gvk),
        intake=partial(BuiltinIntake, gvk=gvk, strategy=found.strategy),
        storage=_storage(gvk, gvr.group_resource, resource, storages),
        verbs=resource.verbs,
        singular=resource.singular,
        short_names=resource.short_names,
        categories=resource.categories,
        subresources={sub.name: _subresource(gvk, sub, found) for sub in resource.subresources},
        handler=found.handler,
        deprecation=found.deprecation,
    )


def _storage(
    gvk: GroupVersionKind, name: GroupResource, resource: facts.Resource, storages: dict[GroupResource, StorageKind]
) -> StorageKind:
    """The first version of a resource is the preferred one, and the one in which it is stored."""
    stored = _STORED_ELSEWHERE.get(name)
    if stored is not None:
        name = GroupResource(stored.group, name.resource)
    if name not in storages:
        converter = CONVERTERS.get(name)
        storages[name] = StorageKind(name, stored or gvk, namespaced=resource.namespaced, converter=converter)
    return storages[name]


def _subresource(gvk: GroupVersionKind, sub: facts.Subresource, found: Endpoints) -> Subresource:
    endpoint = found.subresources.get(sub.name)
    kind = GroupVersionKind(sub.group, sub.version, sub.kind) if sub.version else gvk.group_version.kind(sub.kind)
    if isinstance(endpoint, Strategy):
        return Subresource(name=sub.name, gvk=kind, verbs=sub.verbs, strategy=endpoint)
    if isinstance(endpoint, ScaleEndpoint):
        return Subresource(name=sub.name, gvk=kind, verbs=sub.verbs, scale=endpoint)
    return Subresource(name=sub.name, gvk=kind, verbs=sub.verbs, handler=endpoint)


def _schema(gvk: GroupVersionKind) -> Schema:
    name = facts.definition_name(*gvk)
    if name is None:
        raise KeyError(f"there is no schema of {gvk}")
    return facts.definitions().schema(name)
