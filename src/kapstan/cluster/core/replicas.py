"""Replicas: what a set and a deployment tell alike of the machines that they have and want. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kapstan.cluster.api.core import Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.machines import with_delays
from kapstan.cluster.core.versions import counted
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, true, true_on, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.labels import Selector
from kapstan.machinery.meta import Condition

__all__ = ("Group", "count", "deleting", "scaling_down", "scaling_up", "waiting_for_replicas")

# Whatever keeps a number of machines.
Group: TypeAlias = MachineSet | MachineDeployment


def count(group: Group, machines: Sequence[Machine], selector: Selector) -> None:
    """Set the counters. A machine that is being changed in place is none that one can count on."""
    steady = [machine for machine in machines if labels.UPDATE_IN_PROGRESS not in machine.metadata.annotations]

    def having(type: str) -> int:
        return sum(true_on(machine, type) for machine in steady)

    status = group.status
    status.selector = str(selector)
    status.replicas = len(machines)
    status.ready_replicas = having(ConditionType.READY)
    status.available_replicas = having(ConditionType.AVAILABLE)
    status.up_to_date_replicas = having(ConditionType.UP_TO_DATE)
    status.versions = counted(machines)


def waiting_for_replicas(type: str) -> Condition:
    """Nobody has said yet how many machines are wanted."""
    return unknown(type, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")


def scaling_up(group: Group, current: int, *, missing: str, blocked: str) -> Condition:
    """`missing` are templates that are not there, `blocked` is why no machine is made, both in words."""
    type, wanted = ConditionType.SCALING_UP, _wanted(group)
    if wanted is None:
        return waiting_for_replicas(type)
    if current >= wanted:
        would = f"Scaling up would be blocked because {missing}" if missing and not group.deleting else ""
        return false(type, Reason.NOT_SCALING_UP, would)
    why = f" is blocked because{blocked}" if blocked else ""
    return true(type, Reason.SCALING_UP, f"Scaling up from {current} to {wanted} replicas{why}")


def scaling_down(group: Group, machines: Sequence[Machine]) -> Condition:
    type, wanted = ConditionType.SCALING_DOWN, _wanted(group)
    if wanted is None:
        return waiting_for_replicas(type)
    if len(machines) <= wanted:
        return false(type, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {len(machines)} to {wanted} replicas"
    return true(type, Reason.SCALING_DOWN, with_delays(message, machines))


def deleting(group: Group, machines: Sequence[Machine], *, rest: str = "") -> Condition:
    """`rest` is what still has to go when the machines are gone, in words."""
    type = ConditionType.DELETING
    if not group.deleting:
        return false(type, Reason.NOT_DELETING)
    if not machines:
        return true(type, Reason.DELETING, rest or "Deletion completed")
    message = f"Deleting {len(machines)} Machine{'' if len(machines) == 1 else 's'}"
    return true(type, Reason.DELETING, with_delays(message, machines))


def _wanted(group: Group) -> int | None:
    return 0 if group.deleting else group.spec.replicas
