"""Kinds that others define: those of Kubernetes itself."""

from __future__ import annotations

import importlib

from kapstan import k8s
from kapstan.machinery.model import Resource

__all__ = ("foreign_package",)


def foreign_package(group: str, version: str, kind: str) -> str | None:
    """The package of a built-in kind, such as `kapstan.k8s.apps_v1`; None if Kubernetes has no such kind."""
    name = f"{group.split('.')[0]}_{version}"
    if name not in k8s.__all__:
        return None
    package = f"kapstan.k8s.{name}"
    found = getattr(importlib.import_module(package), kind, None)
    return package if isinstance(found, type) and issubclass(found, Resource) else None
