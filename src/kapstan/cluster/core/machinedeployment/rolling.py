"""The next step of a deployment: its sets as they shall be, each written once.

Sizes are planned only when every set has heard of its last size: a set that has not may still be making or deleting
machines that nobody has counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kapstan.cluster.api.core import MachineSet
from kapstan.cluster.core.machinedeployment import desired
from kapstan.cluster.core.machinedeployment.choice import Choice, choose, created, revise, revision_after
from kapstan.cluster.core.machinedeployment.proportion import scaled
from kapstan.cluster.core.machinedeployment.rollout import SetState, on_delete, rolling_update
from kapstan.cluster.core.machinedeployment.scope import Scope
from kapstan.cluster.core.machinedeployment.sets import CacheBehind, check_known
from kapstan.cluster.core.ownedkeys import owned_keys
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, true_on
from kapstan.cluster.skeleton.draft import Draft
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.errors import AlreadyExists
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("has_heard", "reconcile_rollout")


async def reconcile_rollout(scope: Scope) -> Outcome:
    deployment = scope.deployment
    if scope.sets is None or deployment.spec.replicas is None:
        return None
    now = datetime.now(UTC)
    choice = choose(deployment, scope.sets, now)
    if choice.new is None and scope.templates.complete and not deployment.spec.paused:
        created_set = await _create(scope, choice.old)
        choice = Choice(created_set, choice.old)
        scope.sets.append(created_set)
    else:
        await _write(scope, choice, _sizes(scope, choice))
    if choice.new is not None:
        deployment.metadata.annotations[labels.REVISION] = choice.new.metadata.annotations[labels.REVISION]
    await _clean_up(scope, choice)
    return _due(scope, now)


def _due(scope: Scope, now: datetime) -> Outcome:
    """A rollout that is asked for at a time to come."""
    rollout = scope.deployment.spec.rollout
    after = rollout.after if rollout is not None else None
    return Result(requeue_after=(after - now).total_seconds() + 0.1) if after is not None and after >= now else None


# --- Sizes ------------------------------------------------------------------------------------------------------------


def _sizes(scope: Scope, choice: Choice) -> dict[str, int]:
    """Sets whose size changes now."""
    old = [_state(scope, machine_set) for machine_set in choice.old]
    limits = desired.limits_of(scope.deployment)
    alone = not any(state.wanted or state.actual for state in old)
    if not alone and not all(has_heard(machine_set) for machine_set in scope.sets or ()):
        return {}
    new = _state(scope, choice.new) if choice.new is not None else None
    if scope.deployment.spec.paused:
        return scaled(limits, new, old, _before(choice), rolls=scope.rolls)
    if new is None:
        return {}
    return rolling_update(limits, new, old) if scope.rolls else on_delete(limits.replicas, new, old)


def has_heard(machine_set: MachineSet) -> bool:
    """Whether a set has been looked at since its size last changed, successfully or not."""
    heard = max((condition.observed_generation or 0 for condition in machine_set.status.conditions), default=0)
    return machine_set.deleting or heard >= machine_set.metadata.generation


def _state(scope: Scope, machine_set: MachineSet) -> SetState:
    machines = scope.machines_of(machine_set)
    available = sum(true_on(machine, ConditionType.AVAILABLE) and not machine.deleting for machine in machines)
    wanted = 0 if machine_set.deleting else machine_set.spec.replicas or 0
    return SetState(machine_set.name, created(machine_set), wanted, len(machines), available)


def _before(choice: Choice) -> dict[str, int]:
    found = {}
    for machine_set in (*choice.old, *([choice.new] if choice.new is not None else [])):
        text = machine_set.metadata.annotations.get(desired.MAX_REPLICAS, "")
        found[machine_set.name] = int(text) if text.isdecimal() else 0
    return found


# --- Writing ----------------------------------------------------------------------------------------------------------


async def _create(scope: Scope, old: Sequence[MachineSet]) -> MachineSet:
    """Make the set that is wanted, already as large as there is room."""
    deployment = scope.deployment
    if deployment.metadata.generation > 1:
        await check_known(scope)
    revision = revision_after(old)
    name, _ = desired.set_name(deployment, revision)
    new = SetState(name, datetime.now(UTC), 0, 0, 0)
    heard = all(has_heard(machine_set) for machine_set in old)
    size = _room(scope, new, [_state(scope, machine_set) for machine_set in old]) if heard else 0
    for collision in range(10):
        wanted = desired.desired_set(deployment, revision, size, collision)
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
    raise CacheBehind(f"{deployment}: every name for a new MachineSet that was tried is taken, such as {name}")


def _room(scope: Scope, new: SetState, old: Sequence[SetState]) -> int:
    limits = desired.limits_of(scope.deployment)
    sizes = rolling_update(limits, new, old) if scope.rolls else on_delete(limits.replicas, new, old)
    return sizes.get(new.name, 0)


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
        await draft.save()
        if machine_set.spec.replicas != before:
            message = f"Scaled MachineSet {machine_set.name}: {before} -> {machine_set.spec.replicas}"
            scope.events.normal(scope.deployment, "SuccessfulScale", message)


def _set_creation(scope: Scope, machine_set: MachineSet, *, is_new: bool) -> None:
    """Where people delete old machines themselves, those are not made again."""
    disabled = "false" if is_new or scope.rolls else "true"
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
    new = _state(scope, choice.new)
    old = [(machine_set, _state(scope, machine_set)) for machine_set in choice.old]
    if new.available != replicas or new.actual != replicas or any(state.actual for _, state in old):
        return
    for machine_set, state in old:
        if state.wanted == 0 and has_heard(machine_set) and not machine_set.deleting:
            await scope.client.delete(machine_set, uid=machine_set.uid)
            scope.kept.pop(machine_set.uid, None)
            scope.events.normal(scope.deployment, "SuccessfulDelete", f'Deleted MachineSet "{machine_set.name}"')
