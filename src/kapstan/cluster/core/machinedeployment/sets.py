"""Which sets belong to a deployment, and the machines that they have.

Sets that the selector matches and nobody controls are adopted.
"""

from __future__ import annotations

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core import Machine, MachineSet
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.selection import selector_of
from kapstan.cluster.skeleton import labels
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.labels import Selector
from kapstan.machinery.owners import set_controller
from kapstan.runtime.reconcile import Outcome

__all__ = ("CacheBehind", "check_known", "reconcile_sets")


class CacheBehind(KapstanError):
    """The API server has sets that the cache has not heard of yet."""


async def reconcile_sets(scope: Scope) -> Outcome:
    deployment = scope.deployment
    selector = selector_of(deployment)
    sets = []
    for machine_set in _known_sets(scope, selector):
        if machine_set.controller_ref() is None and selector.matches(machine_set.metadata.labels):
            machine_set = await _adopt(scope, machine_set)
        controller = machine_set.controller_ref()
        if controller is not None and controller.uid == deployment.uid:
            sets.append(machine_set)
    scope.machines = list(await scope.client.list(Machine, deployment.namespace, labels=str(selector)))
    scope.sets = sets
    return None


def _known_sets(scope: Scope, selector: Selector) -> list[MachineSet]:
    """The sets in the cache that the deployment has, or could adopt, by name."""
    deployment, store = scope.deployment, scope.client.cache.factory.shared(MachineSet).store
    found = {one.key: one for one in store.select(deployment.namespace, selector)}
    found |= {one.key: one for one in store.owned_by(deployment.uid)}
    return [found[key].decode(MachineSet) for key in sorted(found)]


async def _adopt(scope: Scope, machine_set: MachineSet) -> MachineSet:
    if scope.deployment.deleting or machine_set.deleting:
        return machine_set
    async with scope.client.edit(machine_set, optimistic_lock=True) as adopted:
        set_controller(scope.deployment, adopted)
    scope.events.normal(scope.deployment, "SuccessfulAdopt", f'Adopted MachineSet "{machine_set.name}"')
    return adopted


async def check_known(scope: Scope) -> None:
    """That the cache knows every set is asked of the API server: what follows depends on it."""
    deployment = scope.deployment
    selector = {labels.CLUSTER_NAME: deployment.spec.cluster_name}  # every set has it from whoever made it
    found = await scope.client.live.list(metadata_of(MachineSet), deployment.namespace, labels=selector)
    ours = {one.name for one in found if any(ref.uid == deployment.uid for ref in one.metadata.owner_references)}
    unknown = ours - {machine_set.name for machine_set in scope.sets or ()}
    if unknown:
        raise CacheBehind(f"{deployment}: waiting for the cache to hear of MachineSets {', '.join(sorted(unknown))}")
