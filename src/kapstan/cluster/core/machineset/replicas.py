"""As many machines as are wanted: made where there are too few, deleted where there are too many.

A machine that is going still counts: its successor is made when it is gone.
"""

from __future__ import annotations

from kapstan.cluster.core.machineset.creation import check_count, create_machines, note_names
from kapstan.cluster.core.machineset.deletionorder import first_to_go
from kapstan.cluster.core.machineset.preflight import failed_checks
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.skeleton import labels
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_replicas",)


async def reconcile_replicas(scope: Scope) -> Outcome:
    wanted = scope.machine_set.spec.replicas
    if scope.machines is None or wanted is None:
        return None
    if any(machine.deleting for machine in scope.machines):
        await note_names(scope)
    missing = wanted - len(scope.machines)
    if missing > 0:
        await _scale_up(scope, missing)
    elif missing < 0:
        await _scale_down(scope, -missing)
    return None


async def _scale_up(scope: Scope, missing: int) -> None:
    if scope.machine_set.metadata.annotations.get(labels.DISABLE_MACHINE_CREATE) == "true":
        return
    if not scope.templates.complete:
        return  # when they come, we are woken
    scope.blocked = await failed_checks(scope)
    if not scope.blocked:  # what they are about wakes us when it changes
        await create_machines(scope, missing)


async def _scale_down(scope: Scope, surplus: int) -> None:
    assert scope.machines is not None
    machine_set = scope.machine_set
    deletion = machine_set.spec.deletion
    order = (deletion.order if deletion is not None else None) or "Random"
    chosen = [machine for machine in first_to_go(scope.machines, surplus, order) if not machine.deleting]
    if chosen:
        await check_count(scope)
        await note_names(scope)
    for machine in chosen:
        await scope.client.delete(machine, uid=machine.uid)
        scope.events.normal(machine_set, "SuccessfulDelete", f'Deleted Machine "{machine.name}"')
