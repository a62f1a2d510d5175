"""Kinds by whatever names them: their resource, and what is known of how they are served."""

from __future__ import annotations

from typing import Any

from kapstan.client.interface import Kind, gvk_of
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.model import ResourceInfo, resource_info
from kapstan.machinery.scheme import SCHEME, pluralize

__all__ = ("known", "resource_of")


def known(kind: Kind[Any]) -> ResourceInfo | None:
    """How a kind is served; None if no class says it."""
    cls = kind if isinstance(kind, type) else SCHEME.find(gvk_of(kind))
    return None if cls is None else resource_info(cls)


def resource_of(kind: Kind[Any]) -> GroupResource:
    """The resource of a kind; where no class says it, Kubernetes' guess at its plural."""
    info, gvk = known(kind), gvk_of(kind)
    return info.gvr.group_resource if info else GroupResource(gvk.group, pluralize(gvk.kind.lower()))
