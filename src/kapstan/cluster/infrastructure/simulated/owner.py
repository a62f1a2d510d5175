"""Owners: core says by owner references whose infrastructure an object is."""

from __future__ import annotations

from kapstan.cluster.api.core.group import GROUP
from kapstan.machinery.gvk import GroupVersion
from kapstan.machinery.model import Resource

__all__ = ("owner_name",)


def owner_name(obj: Resource, kind: str) -> str:
    """The name of the object of core's that owns this one, in whatever version; empty as long as none does."""
    for ref in obj.metadata.owner_references:
        if ref.kind == kind and GroupVersion.parse(ref.api_version).group == GROUP:
            return ref.name
    return ""
