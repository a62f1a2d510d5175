"""Which machines go first when there are too many. Pure.

Those that are going already, then those that somebody has marked, then those that are being changed, then those that
are not well; then as the set says. Where nothing else decides, the name does: who looks twice chooses the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kapstan.cluster.api.core import Machine
from kapstan.cluster.api.core.machineset import DeletionOrder
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false_on

__all__ = ("first_to_go", "is_well")

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def first_to_go(machines: Sequence[Machine], count: int, order: DeletionOrder = "Random") -> list[Machine]:
    """So many machines, those that go first."""
    return sorted(machines, key=lambda machine: (*_rank(machine, order), machine.name))[: max(count, 0)]


def is_well(machine: Machine) -> bool:
    """Whether a machine is a node that nobody has complained about. What is not known is not held against it."""
    if machine.status.node_ref is None:
        return False
    complaints = (ConditionType.NODE_HEALTHY, ConditionType.HEALTH_CHECK_SUCCEEDED)
    return not any(false_on(machine, complaint) for complaint in complaints)


def _rank(machine: Machine, order: DeletionOrder) -> tuple[int, float]:
    annotations = machine.metadata.annotations
    before_all = (
        machine.deleting,
        labels.DELETE_MACHINE in annotations,
        labels.UPDATE_IN_PROGRESS in annotations,
        not is_well(machine),
    )
    for rank, applies in enumerate(before_all):
        if applies:
            return rank, 0
    created = (machine.metadata.creation_timestamp or _BEGINNING).timestamp()
    ages = {"Oldest": created, "Newest": -created, "Random": 0.0}
    return len(before_all), ages[order]
