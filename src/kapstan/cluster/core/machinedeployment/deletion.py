"""The end of a deployment: its sets go first, with their machines, and it waits for them."""

from __future__ import annotations

from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machinedeployment.sets import check_known
from kapstan.cluster.skeleton import labels
from kapstan.machinery.owners import remove_finalizer
from kapstan.runtime.reconcile import Outcome

__all__ = ("delete_deployment",)


async def delete_deployment(scope: Scope) -> Outcome:
    if scope.sets is None:
        return None
    for machine_set in scope.sets:
        scope.kept.pop(machine_set.uid, None)
        if not machine_set.deleting:
            await scope.client.delete(machine_set, uid=machine_set.uid)
    if scope.sets:
        return None
    await check_known(scope)  # what follows cannot be undone
    remove_finalizer(scope.deployment, labels.MACHINE_DEPLOYMENT_FINALIZER)
    return None
