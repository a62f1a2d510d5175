"""Which machines belong to a set: those that its selector matches and nobody else controls.

One that nobody controls is adopted. One that the set controls but whose labels no longer match is released: somebody
has taken it out of the set, to look at it perhaps, and it must not be deleted.
"""

from __future__ import annotations

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.selection import selector_of
from kapstan.machinery.owners import has_owner, remove_owner, set_controller
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_members",)


async def reconcile_members(scope: Scope) -> Outcome:
    machine_set = scope.machine_set
    if machine_set.deleting:
        scope.machines = _controlled(scope)
        return None
    selector = selector_of(machine_set)
    matching = await scope.client.list(Machine, machine_set.namespace, labels=str(selector))
    machines = []
    for machine in matching:
        if machine.controller_ref() is None and not machine.deleting:
            machine = await _adopt(scope, machine)
        controller = machine.controller_ref()
        if controller is None or controller.uid == machine_set.uid:
            machines.append(machine)
    await _release(scope, {machine.uid for machine in matching})
    scope.machines = machines
    return None


def _controlled(scope: Scope) -> list[Machine]:
    """The machines that go with the set: those that it controls, whatever labels they have, and no others."""
    uid = scope.machine_set.uid
    owned = scope.client.cache.factory.shared(Machine).store.owned_by(uid)
    machines: list[Machine] = [snapshot.decode(Machine) for snapshot in owned]
    return [machine for machine in machines if (found := machine.controller_ref()) is not None and found.uid == uid]


async def _adopt(scope: Scope, machine: Machine) -> Machine:
    async with scope.client.edit(machine, optimistic_lock=True) as adopted:
        set_controller(scope.machine_set, adopted)
    scope.events.normal(scope.machine_set, "SuccessfulAdopt", f'Adopted Machine "{machine.name}"')
    return adopted


async def _release(scope: Scope, matching: set[str]) -> None:
    """A machine that is going is not released: what it still owns of the set's doing goes with it."""
    machine_set = scope.machine_set
    owned = scope.client.cache.factory.shared(Machine).store.owned_by(machine_set.uid)
    for snapshot in owned:
        if snapshot.uid in matching or snapshot.deleting:
            continue
        machine: Machine = snapshot.decode(Machine)
        if has_owner(machine_set, machine):
            async with scope.client.edit(machine, optimistic_lock=True) as released:
                remove_owner(machine_set, released)
            scope.events.normal(machine_set, "SuccessfulRelease", f'Released Machine "{machine.name}"')
