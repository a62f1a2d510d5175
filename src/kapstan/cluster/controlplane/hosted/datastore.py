"""Datastore: have a place for the objects of a control plane, and never an empty one for those that it had."""

from __future__ import annotations

from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.machinery.errors import KapstanError

__all__ = ("ensure_datastore",)


async def ensure_datastore(scope: Scope) -> None:
    initialized = scope.control_plane.status.initialization is not None
    if initialized and not scope.runtime.keeps(scope.instance):
        raise KapstanError(
            "the data of this control plane are not in the data folder of this management plane: start it with the "
            "folder that has them, or bring them back; to begin without them, delete the control plane and make it anew"
        )
    scope.datastore = await scope.runtime.ensure_datastore(scope.instance, scope.settings.datastore)
