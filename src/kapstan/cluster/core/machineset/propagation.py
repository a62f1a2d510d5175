"""Propagation: what of a set's template can change while machines run is changed on them, and on their parts.

Labels and annotations that the template no longer has are taken away, those that others have set stay: the API server
knows whose they are. It is asked only where there is something that the template does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kapstan.client.interface import Patch
from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.core.machineset.desired import MANAGER, metadata_of, set_in_place
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.core.ownedkeys import Metadata, owned_keys
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.draft import Draft
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.owners import add_finalizer
from kapstan.runtime.reconcile import Outcome

__all__ = ("changes", "propagate")

# Cluster API has a second name for what it sets on machines' parts.
_MANAGERS = (MANAGER, "capi-machineset-metadata")
_CLONED = (labels.CLONED_FROM_NAME, labels.CLONED_FROM_GROUP_KIND)


async def propagate(scope: Scope) -> Outcome:
    machine_set = scope.machine_set
    wanted, remembered = metadata_of(machine_set), scope.memory.of(machine_set.uid)
    known = remembered.machines if remembered.metadata == wanted else set()
    removals = _may_have_less(scope, wanted)
    for machine in scope.present:
        await _sync_machine(scope, machine, wanted, removals=removals)
        if machine.uid not in known and not machine.deleting:
            for ref in _parts(machine):
                await _sync_part(scope, ref, wanted, removals=removals)
    if scope.machines is not None:
        remembered.metadata, remembered.machines = wanted, {machine.uid for machine in scope.machines}
    return None


def _may_have_less(scope: Scope, wanted: Metadata) -> bool:
    """Whether the template may have lost something since it was last propagated completely."""
    known, status = scope.memory.of(scope.machine_set.uid).metadata, scope.machine_set.status
    if known is not None:
        return any(before.keys() - after.keys() for before, after in zip(known, wanted, strict=True))
    return status.observed_generation not in (None, scope.machine_set.metadata.generation)


async def _sync_machine(scope: Scope, machine: Machine, wanted: Metadata, *, removals: bool) -> None:
    """What matters to its end is changed even on a machine that is going."""
    draft = Draft(scope.client.with_options(field_manager=MANAGER), machine)
    set_in_place(machine.spec, scope.machine_set.spec.template.spec)
    if not machine.deleting:
        add_finalizer(machine, labels.MACHINE_FINALIZER)
        meta = machine.metadata
        stale: Metadata | None = None
        if removals and (meta.labels.keys() - wanted[0].keys() or meta.annotations.keys() - wanted[1].keys()):
            live = await scope.client.live.find(Machine, machine.name, machine.namespace)
            stale = owned_keys(to_builtins(live.metadata), _MANAGERS) if live is not None else None
        meta.labels = _merged(meta.labels, wanted[0], stale[0] if stale else ())
        meta.annotations = _merged(meta.annotations, wanted[1], stale[1] if stale else ())
    await draft.save()


def _merged(current: dict[str, str], wanted: dict[str, str], stale: Collection[str]) -> dict[str, str]:
    return {key: value for key, value in current.items() if key not in stale} | wanted


async def _sync_part(scope: Scope, ref: ContractReference, wanted: Metadata, *, removals: bool) -> None:
    found = await scope.providers.find(ProviderObject, ref, scope.machine_set.namespace)
    if found is None or found.deleting:
        return
    stale: Metadata = {}, {}
    if removals:
        live = await scope.providers.find_live(ProviderObject, ref, scope.machine_set.namespace)
        stale = (
            _less(owned_keys(live.document["metadata"], _MANAGERS), _of_templates(scope)) if live is not None else stale
        )
    patch = changes(found.document["metadata"], wanted, stale)
    if patch:
        await scope.client.patch(found.document, Patch.merge({"metadata": patch}), field_manager=MANAGER)


def changes(metadata: dict[str, Any], wanted: Metadata, stale: Metadata) -> dict[str, dict[str, str | None]]:
    """What has to change of an object's labels and annotations; None takes one away."""
    found: dict[str, dict[str, str | None]] = {}
    for name, then, old in zip(("labels", "annotations"), wanted, stale, strict=True):
        now = metadata.get(name) or {}
        part: dict[str, str | None] = {key: value for key, value in then.items() if now.get(key) != value}
        part |= {key: None for key in old if key in now and key not in then}
        if part:
            found[name] = part
    return found


def _less(owned: Metadata, kept: Metadata) -> Metadata:
    first, second = (
        {key: value for key, value in ours.items() if key not in others}
        for ours, others in zip(owned, kept, strict=True)
    )
    return first, second


def _of_templates(scope: Scope) -> Metadata:
    """What parts have from their own template, and from having been cloned."""
    found: Metadata = {}, dict.fromkeys(_CLONED, "")
    for template in scope.templates.all:
        metadata = (template.found.content.get("metadata") or {}) if template.found is not None else {}
        found[0].update(metadata.get("labels") or {})
        found[1].update(metadata.get("annotations") or {})
    return found


def _parts(machine: Machine) -> Iterator[ContractReference]:
    if machine.spec.bootstrap.config_ref is not None:
        yield machine.spec.bootstrap.config_ref
    yield machine.spec.infrastructure_ref
