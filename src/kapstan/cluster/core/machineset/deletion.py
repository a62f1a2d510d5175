"""The end of a set: its machines go first, and it waits for them. Whatever goes wakes it."""

from __future__ import annotations

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.skeleton import labels
from kapstan.machinery.owners import remove_finalizer
from kapstan.runtime.reconcile import Outcome

__all__ = ("delete_set",)


async def delete_set(scope: Scope) -> Outcome:
    if scope.machines is None:
        return None
    for machine in scope.machines:
        if not machine.deleting:
            await scope.client.delete(machine, uid=machine.uid)
    if scope.machines or await _machines_left(scope):
        return None
    scope.memory.forget(scope.machine_set.uid)
    remove_finalizer(scope.machine_set, labels.MACHINE_SET_FINALIZER)
    return None


async def _machines_left(scope: Scope) -> bool:
    """Whether there are machines that the cache has not heard of: what follows cannot be undone."""
    machine_set = scope.machine_set
    selector = {labels.SET_NAME: labels.label_value(machine_set.name)}
    found = await scope.client.live.list(metadata_of(Machine), machine_set.namespace, labels=selector)
    return any(owner.uid == machine_set.uid for machine in found for owner in machine.metadata.owner_references)
