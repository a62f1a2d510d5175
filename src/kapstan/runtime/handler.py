"""Handlers: which objects to reconcile when something changed. They only name keys, so they are quick.

A handler is called by the informer, inside the event loop: it must not block. One that has to ask somebody first is
`map_to` with an async function, which runs on its own and in order.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from kapstan.client.interface import gvk_of
from kapstan.machinery.gvk import GroupKind, GroupVersionKind, ObjectKey
from kapstan.machinery.model import Resource, resource_info
from kapstan.runtime.change import Change

__all__ = ("AsyncHandler", "Handler", "MapFunction", "enqueue_object", "enqueue_owner", "map_to")

# What a map function may return to name what is to be reconciled.
Target: TypeAlias = ObjectKey | Resource
MapFunction: TypeAlias = Callable[[Any], Iterable[Target] | Awaitable[Iterable[Target]]]
Handler: TypeAlias = Callable[[Change], Iterable[ObjectKey]]
AsyncHandler: TypeAlias = Callable[[Change], Awaitable[Iterable[ObjectKey]]]


def enqueue_object(change: Change) -> Iterable[ObjectKey]:
    """The object itself."""
    return (change.key,)


def enqueue_owner(owner: type[Resource] | GroupVersionKind, *, every_owner: bool = False) -> Handler:
    """The object's controller if it is of that kind, or with `every_owner` every owner of that kind.

    The kind is compared without its version: references outlive versions. After an update the owners before it count
    too, so that one that was dropped notices.
    """
    group_kind: GroupKind = gvk_of(owner).group_kind
    namespaced = isinstance(owner, GroupVersionKind) or resource_info(owner).namespaced

    def owners(change: Change) -> Iterable[ObjectKey]:
        return {
            ObjectKey(state.key.namespace if namespaced else "", ref.name): None
            for state in change.states
            if state.owner_uids
            for ref in state.owners()
            if (ref.group, ref.kind) == group_kind and (every_owner or ref.controller)
        }

    return owners


def map_to(function: MapFunction) -> Handler | AsyncHandler:
    """What a function of the object names. After an update it is asked about the object before it, too."""
    if inspect.iscoroutinefunction(function):

        async def mapped_later(change: Change) -> Iterable[ObjectKey]:
            found: dict[ObjectKey, None] = {}
            for state in change.states:
                found |= dict.fromkeys(map(_key, await function(state.decode(change.kind))))
            return found

        return mapped_later

    def mapped(change: Change) -> Iterable[ObjectKey]:
        found: dict[ObjectKey, None] = {}
        for state in change.states:
            targets: Any = function(state.decode(change.kind))
            found |= dict.fromkeys(map(_key, targets))
        return found

    return mapped


def _key(target: Target) -> ObjectKey:
    if isinstance(target, ObjectKey):
        return target
    if isinstance(target, Resource):
        return target.key
    raise TypeError(f"a map function names objects by ObjectKey(namespace, name) or as objects, not by {target!r}")
