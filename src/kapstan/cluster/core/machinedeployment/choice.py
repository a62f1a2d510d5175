"""Which set has the machines that a deployment wants, and how new it is. Pure.

A set is told by its template, as far as only new machines can change: it is the same set again if a change is taken
back. Its revision is the highest of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kapstan.cluster.api.core import MachineDeployment, MachineSet
from kapstan.cluster.core.uptodate import differences, rollout_is_due
from kapstan.cluster.skeleton import labels

__all__ = ("REVISION_HISTORY", "Choice", "choose", "created", "revise", "revision_after", "revision_of")

REVISION_HISTORY = "machinedeployment.clusters.x-k8s.io/revision-history"
_NEVER = datetime.max.replace(tzinfo=UTC)


class Choice(NamedTuple):
    """The sets of a deployment."""

    new: MachineSet | None
    old: list[MachineSet]


def choose(deployment: MachineDeployment, sets: Sequence[MachineSet], now: datetime) -> Choice:
    """The set with what is wanted, if there is one: of several, the one that most machines are in already."""
    by_size = sorted(sets, key=lambda one: (-(one.spec.replicas or 0), created(one), one.name))
    fitting = [one for one in by_size if _fits(one, deployment, now)]
    new = fitting[0] if fitting else None
    return Choice(new, [one for one in sets if new is None or one.uid != new.uid])


def _fits(machine_set: MachineSet, deployment: MachineDeployment, now: datetime) -> bool:
    if machine_set.deleting or differences(machine_set.spec.template, deployment.spec.template):
        return False
    return not rollout_is_due(machine_set, deployment, now)


def created(machine_set: MachineSet) -> datetime:
    return machine_set.metadata.creation_timestamp or _NEVER


# --- Revisions --------------------------------------------------------------------------------------------------------


def revision_of(machine_set: MachineSet) -> int:
    text = machine_set.metadata.annotations.get(labels.REVISION, "")
    return int(text) if text.isdecimal() else 0


def revision_after(old: Sequence[MachineSet]) -> int:
    return max((revision_of(one) for one in old), default=0) + 1


def revise(new: MachineSet, old: Sequence[MachineSet]) -> None:
    """Give the set the highest revision; those that it had before are its history. A revision never goes down."""
    annotations, current = new.metadata.annotations, revision_of(new)
    revision = revision_after(old)
    if current >= revision:
        return
    if current:
        history = annotations.get(REVISION_HISTORY, "")
        annotations[REVISION_HISTORY] = f"{history},{current}" if history else str(current)
    annotations[labels.REVISION] = str(revision)
