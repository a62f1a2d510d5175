"""Datastore: have a place for the objects of a control plane."""

from __future__ import annotations

from kapstan.cluster.controlplane.hosted.scope import Scope

__all__ = ("ensure_datastore",)


async def ensure_datastore(scope: Scope) -> None:
    scope.datastore = await scope.runtime.ensure_datastore(scope.instance, scope.settings.datastore)
