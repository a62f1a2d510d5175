"""The next step of a deployment: its sets as they shall be, each written once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kapstan.cluster.api.core import MachineSet
from kapstan.cluster.core.machinedeployment import desired
from kapstan.cluster.core.machinedeployment.choice import Choice, choose, revise, revision_after
from kapstan.cluster.core.machinedeployment.plan import first_size, has_heard, planned_sizes, rolls, state_of
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machinedeployment.sets import CacheBehind, check_known
from kapstan.cluster.core.ownedkeys import owned_keys
from kapstan.cluster.core.uptodate import note_rollout
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import AlreadyExists
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("reconcile_rollout",)


async def reconcile_rollout(scope: Scope) -> Outcome:
    deployment = scope.deployment
    if scope.sets is None or deployment.spec.replicas is None:
        return None
    now = datetime.now(UTC)
    choice = choose(deployment, scope.sets, now)
    if choice.new is None and scope.templates.complete and not deployment.spec.paused:
        await _write(scope, choice, {})  # before anybody hears that there is a new one, the old ones know that they are
        new = await _create(scope, choice.old, now)
        choice = Choice(new, choice.old)
        scope.sets.append(new)
    else:
        await _write(scope, choice, planned_sizes(deployment, choice, scope.machines))
    if choice.new is not None:
        deployment.metadata.annotations[labels.REVISION] = choice.new.metadata.annotations[labels.REVISION]
    await _clean_up(scope, choice)
    return _due(scope, now)


def _due(scope: Scope, now: datetime) -> Outcome:
    """A rollout that is asked for at a time to come."""
    rollout = scope.deployment.spec.rollout
    after = rollout.after if rollout is not None else None
    return Result(requeue_after=(after - now).total_seconds() + 0.1) if after is not None and after >= now else None


# --- Writing ----------------------------------------------------------------------------------------------------------


async def _create(scope: Scope, old: Sequence[MachineSet], now: datetime) -> MachineSet:
    """Make the set that is wanted, already as large as there is room."""
    deployment = scope.deployment
    if deployment.metadata.generation > 1:
        await check_known(scope)
    revision, size = revision_after(old), first_size(deployment, old, scope.machines)
    for collision in range(10):
        wanted = desired.desired_set(deployment, revision, size, collision)
        note_rollout(wanted, deployment, now)
        try:
            made = await scope.client.create(wanted, field_manager=desired.MANAGER)
        except AlreadyExists:
            found = await scope.client.live.get(MachineSet, wanted.name, deployment.namespace)
            controller = found.controller_ref()
            if controller is not None and controller.uid == deployment.uid:
                raise CacheBehind(
                    f"{deployment}: waiting for MachineSet {wanted.name}, which was made before"
                ) from None
            continue
        message = f"Created MachineSet {made.namespace}/{made.name} with {size} replicas"
        scope.events.normal(deployment, "SuccessfulCreate", message)
        return made
    raise CacheBehind(f"{deployment}: every name for a new MachineSet that was tried is taken, such as {wanted.name}")


async def _write(scope: Scope, choice: Choice, sizes: dict[str, int]) -> None:
    """Write what changes of each set: size, revision, and whatever is changed in place."""
    client = scope.client.with_options(field_manager=desired.MANAGER)
    for machine_set in (*([choice.new] if choice.new is not None else []), *choice.old):
        if machine_set.deleting:
            continue
        draft, before = Draft(client, machine_set), machine_set.spec.replicas
        desired.set_in_place(machine_set, scope.deployment)
        for key in await _lost_annotations(scope, machine_set):
            del machine_set.metadata.annotations[key]
        _set_creation(scope, machine_set, is_new=machine_set is choice.new)
        if machine_set is choice.new:
            revise(machine_set, choice.old)
        machine_set.spec.replicas = sizes.get(machine_set.name, before)
        await draft.save(locked=machine_set.spec.replicas != before)  # it was planned for what was read
        if machine_set.spec.replicas != before:
            message = f"Scaled MachineSet {machine_set.name}: {before} -> {machine_set.spec.replicas}"
            scope.events.normal(scope.deployment, "SuccessfulScale", message)


def _set_creation(scope: Scope, machine_set: MachineSet, *, is_new: bool) -> None:
    """Where people delete old machines themselves, those are not made again."""
    disabled = "false" if is_new or rolls(scope.deployment) else "true"
    if machine_set.metadata.annotations.get(labels.DISABLE_MACHINE_CREATE, "false") != disabled:
        machine_set.metadata.annotations[labels.DISABLE_MACHINE_CREATE] = disabled


async def _lost_annotations(scope: Scope, machine_set: MachineSet) -> list[str]:
    """Annotations that a set has from its deployment, which no longer has them. The API server knows whose they are."""
    present = machine_set.metadata.annotations.keys() - desired.annotations_for(scope.deployment).keys()
    extra = frozenset(present - set(desired.KEPT))
    if not extra or scope.kept.get(machine_set.uid) == extra:
        return []
    live = await scope.client.live.find(MachineSet, machine_set.name, machine_set.namespace)
    if live is None:
        return []
    _, ours = owned_keys(to_builtins(live.metadata), (desired.MANAGER,))
    lost = sorted(extra & ours.keys())
    scope.kept[machine_set.uid] = extra - ours.keys()
    return lost


async def _clean_up(scope: Scope, choice: Choice) -> None:
    """Old sets without machines go once the deployment is as it shall be."""
    replicas = scope.deployment.spec.replicas
    if choice.new is None:
        return
    new = state_of(choice.new, scope.machines)
    old = [(machine_set, state_of(machine_set, scope.machines)) for machine_set in choice.old]
    if new.available != replicas or new.actual != replicas or any(state.actual for _, state in old):
        return
    for machine_set, state in old:
        if state.wanted == 0 and has_heard(machine_set) and not machine_set.deleting:
            await scope.client.delete(machine_set, uid=machine_set.uid)
            scope.kept.pop(machine_set.uid, None)
            scope.events.normal(scope.deployment, "SuccessfulDelete", f'Deleted MachineSet "{machine_set.name}"')
