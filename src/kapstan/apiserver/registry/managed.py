"""Managed fields: who owns what, kept current on every write, and server-side apply."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.metadata import manager_of
from kapstan.apiserver.request import Request, WriteOptions
from kapstan.machinery.apply import FieldManager, excluding, validate_managed_fields

__all__ = ("apply", "field_manager", "keep_readable", "update")

Object = dict[str, Any]


def update(request: Request, live: Object | None, new: Object) -> Object:
    """The new object, with what it changes given to whoever sent it."""
    manager = field_manager(request.kind)
    return manager.update(live, new, manager_of(request), now=request.timestamp, subresource=request.subresource)


def apply(request: Request, live: Object | None, config: Object) -> Object:
    """The object after a server-side apply; Conflict if somebody else owns what it changes."""
    options = request.options
    assert isinstance(options, WriteOptions)
    return field_manager(request.kind).apply(
        live,
        config,
        options.field_manager,
        force=options.force,
        now=request.timestamp,
        subresource=request.subresource,
    )


def keep_readable(admitted: Object, before: list[Object] | None) -> None:
    """Take back what a webhook made of managedFields, where that cannot be read any more."""
    entries = admitted["metadata"].get("managedFields")
    if entries is before or not entries:
        return
    try:
        validate_managed_fields(entries)
    except ValueError:
        admitted["metadata"]["managedFields"] = before or []


def field_manager(kind: ServedKind) -> FieldManager:
    """The field manager of a kind, made when it is first needed."""
    if kind.field_manager is None:
        strategies = {"": kind.strategy} | {
            name: subresource.strategy for name, subresource in kind.subresources.items() if subresource.strategy
        }
        resets = {name: strategy.reset_fields() for name, strategy in strategies.items()}
        kind.field_manager = FieldManager(
            kind.schema,
            kind.gvk.api_version,
            kind.gvk.kind,
            versions={other.gvk.api_version: other.schema for other in kind.siblings},
            reset_fields={name: excluding(*map(".".join, paths)) for name, paths in resets.items() if paths},
        )
    return kind.field_manager
