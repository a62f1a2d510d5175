"""Making machines: first the Machine, then its parts, which belong to it from the start.

Whatever dies in between, nothing is made twice and nothing is left over: the next look at the set completes what is
half made, under the same names. If the API server refuses a part, the machine is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core import Machine, MachineSet
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import ProviderObject, Template
from kapstan.cluster.core.machineset import desired
from kapstan.cluster.core.machineset.naming import NEXT, Names
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.selection import selector_of
from kapstan.machinery.errors import (
    AlreadyExists,
    APIError,
    BadRequest,
    Forbidden,
    Invalid,
    KapstanError,
    NotFound,
    RequestEntityTooLarge,
)
from kapstan.machinery.model import Resource
from kapstan.runtime.reconcile import Outcome

__all__ = ("check_count", "complete_machines", "create_machines", "note_names")

_REFUSALS = (BadRequest, Forbidden, Invalid, NotFound, RequestEntityTooLarge)


class CacheBehind(KapstanError):
    """The API server has machines that the cache has not heard of yet."""


async def complete_machines(scope: Scope) -> Outcome:
    """Make what machines lack that were begun but not finished."""
    for machine in scope.present:
        if not machine.deleting:
            await _make_parts(scope, machine)
    return None


async def create_machines(scope: Scope, missing: int) -> None:
    """Make so many machines. Names are tried in their order, one after the other: none is left out."""
    await _check_templates(scope)
    await check_count(scope)
    taken = {machine.name for machine in scope.present}
    made: list[str] = []
    try:
        for name in Names(scope.machine_set).free(taken):
            if len(made) == missing:
                break
            if await _make(scope, name):
                made.append(name)
    finally:
        if made:
            message = f"Created Machine{'' if len(made) == 1 else 's'} {', '.join(made)}"
            scope.events.normal(scope.machine_set, "SuccessfulCreate", message)


async def note_names(scope: Scope) -> None:
    """Note where the row of names goes on, before a machine goes: its name shall not be used again."""
    machine_set = scope.machine_set
    names = Names(machine_set)
    following = names.after({machine.name for machine in scope.present})
    if following > names.next:
        machine_set.metadata.annotations[NEXT] = str(following)
        await scope.draft.save(locked=True)


# --- What must be sure before -----------------------------------------------------------------------------------------


async def _check_templates(scope: Scope) -> None:
    """Nothing is begun that cannot be finished."""
    for template in scope.templates.all:
        assert template.found is not None
        await scope.providers.contract(desired.clone_ref(template.ref, template.ref.name))
        _ = template.found.content
    remembered = scope.memory.of(scope.machine_set.uid)
    if remembered.refused:
        await _rehearse(scope)
        remembered.refused = False


async def _rehearse(scope: Scope) -> None:
    """Ask whether the parts of a machine would be accepted. Were machines made and taken back instead, each that goes
    would wake the set, which would try again at once."""
    machine_set = scope.machine_set
    machine = desired.desired_machine(machine_set, Names(machine_set)[Names(machine_set).next])
    machine.metadata.uid = machine_set.uid  # it has none before it is made, and nobody looks
    for template in scope.templates.all:
        assert template.found is not None
        clone = desired.desired_clone(template.found, machine, desired.metadata_of(machine_set))
        del clone["metadata"]["ownerReferences"]
        try:
            await scope.client.create(clone, field_manager=desired.MANAGER, dry_run=True)
        except AlreadyExists:
            continue
        except _REFUSALS as error:
            scope.blocked.append(str(error))
            raise


async def check_count(scope: Scope) -> None:
    """The cache may have been filled from the past: what this process has not counted before is counted by the API
    server. Of a set that nobody has looked at before, names suffice."""
    machine_set, remembered = scope.machine_set, scope.memory.of(scope.machine_set.uid)
    if not remembered.counted and (machine_set.status.observed_generation or Names(machine_set).next):
        current = await scope.client.live.get(metadata_of(MachineSet), machine_set.name, machine_set.namespace)
        if current.metadata.generation != machine_set.metadata.generation:
            raise CacheBehind(f"{machine_set}: waiting for the cache to hear of its changes")
        selector = str(selector_of(machine_set))
        found = await scope.client.live.list(metadata_of(Machine), machine_set.namespace, labels=selector)
        ours = {machine.name for machine in found if machine.controller_ref() is None or _is_ours(scope, machine)}
        unknown = ours - {machine.name for machine in scope.present}
        if unknown:
            raise CacheBehind(f"{machine_set}: waiting for the cache to hear of Machines {', '.join(sorted(unknown))}")
    remembered.counted = True


# --- The machine and its parts ----------------------------------------------------------------------------------------


async def _make(scope: Scope, name: str) -> bool:
    """Make a machine with its parts; whether the name was free, or ours already."""
    machine = await _make_machine(scope, name)
    if machine is None:
        return False
    scope.present.append(machine)
    try:
        await _make_parts(scope, machine)
    except _REFUSALS as error:
        await _take_back(scope, machine, error)
        raise
    return True


async def _make_machine(scope: Scope, name: str) -> Machine | None:
    """The machine of that name, made if it is not there; None if the name is somebody else's."""
    machine_set = scope.machine_set
    try:
        return await scope.client.create(desired.desired_machine(machine_set, name), field_manager=desired.MANAGER)
    except AlreadyExists:
        found = await scope.client.live.get(Machine, name, machine_set.namespace)
        return found if _is_ours(scope, found) else None


class _Part(NamedTuple):
    """What a machine refers to, and the template that it is cloned from."""

    ref: ContractReference
    template: Template


async def _make_parts(scope: Scope, machine: Machine) -> None:
    """Make what the machine refers to, unless it is there."""
    for part in _parts(scope, machine):
        if await scope.providers.find(ProviderObject, part.ref, machine.namespace) is not None:
            continue
        clone = desired.desired_clone(part.template, machine, desired.metadata_of(scope.machine_set))
        try:
            await scope.client.create(clone, field_manager=desired.MANAGER)
        except AlreadyExists:
            continue  # whether it is the machine's own is for the machine to find out


def _parts(scope: Scope, machine: Machine) -> Iterator[_Part]:
    """Parts that were never ready, in the order in which they are made. Those that others made have other names."""
    known, templates = machine.status.initialization, scope.templates
    bootstrapped = known is not None and known.bootstrap_data_secret_created
    provisioned = known is not None and known.infrastructure_provisioned
    parts = (
        (machine.spec.bootstrap.config_ref, templates.bootstrap, bootstrapped),
        (machine.spec.infrastructure_ref, templates.infrastructure, provisioned),
    )
    for ref, template, done in parts:
        if ref is None or template is None or template.found is None or done:
            continue
        if ref == desired.clone_ref(template.ref, machine.name):
            yield _Part(ref, template.found)


async def _take_back(scope: Scope, machine: Machine, error: APIError) -> None:
    """Without its parts a machine is of no use. The machine's own deletion takes those with it that were made."""
    machine_set = scope.machine_set
    scope.blocked.append(str(error))
    scope.memory.of(machine_set.uid).refused = True
    scope.events.warning(machine_set, "FailedCreate", f'Took Machine "{machine.name}" back: {error}')
    await note_names(scope)
    await scope.client.delete(machine, uid=machine.uid)


def _is_ours(scope: Scope, machine: Resource) -> bool:
    controller = machine.controller_ref()
    return controller is not None and controller.uid == scope.machine_set.uid
