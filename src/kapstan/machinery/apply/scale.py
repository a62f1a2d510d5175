"""Ownership across the scale subresource, where `spec.replicas` stands for a field of the object somewhere else.

Before a write to `/scale`, `to_scale` shows who owns the replicas; after it, `from_scale` takes over who owns them now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapstan.machinery.apply.entries import Managed, read_entries, write_entries
from kapstan.machinery.apply.fieldpath import difference, has, set_of
from kapstan.machinery.apply.updater import Owned

__all__ = ("from_scale", "to_scale")

_SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")

Entries = list[dict[str, Any]]
Paths = Mapping[str, tuple[str, ...] | None]
"""Of each version of the kind, the names on the way to its replicas; None if that version has no scale."""


def to_scale(entries: Sequence[Mapping[str, Any]], replicas: Paths) -> Entries:
    """The entries of the Scale: those of the object that own its replicas."""
    managed = read_entries(entries, {})
    scaled = Managed()
    for manager, owned in managed.owned.items():
        names = replicas.get(owned.api_version)
        if names and has(owned.fields, _elements(names)):
            scaled.owned[manager] = Owned(set_of(("spec", "replicas")), _SCALE_VERSION, owned.applied)
            if manager in managed.times:
                scaled.times[manager] = managed.times[manager]
    return write_entries(scaled)


def from_scale(
    entries: Sequence[Mapping[str, Any]], scale_entries: Sequence[Mapping[str, Any]], api_version: str, replicas: Paths
) -> Entries:
    """The entries of the object, after those of its Scale are `scale_entries`. The object is in `api_version`."""
    managed, scaled = read_entries(entries, {}), read_entries(scale_entries, {})
    result = Managed(times=dict(managed.times))
    for manager, owned in managed.owned.items():
        if owned.api_version not in replicas:
            continue
        names = replicas[owned.api_version]
        fields = owned.fields
        if names and has(fields, _elements(names)) and scaled.owned.pop(manager, None) is None:
            fields = difference(fields, set_of(names))
        if fields:
            result.owned[manager] = owned._replace(fields=fields)
    own = replicas.get(api_version)
    for manager, owned in scaled.owned.items():
        if own and has(owned.fields, _REPLICAS):
            result.owned[manager] = Owned(set_of(own), api_version, owned.applied)
    return write_entries(result)


def _elements(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in names)
