"""How large each set of a deployment shall be next. Pure.

Sizes are planned from the machines themselves: the cache knows of them before their sets say so. And they are planned
only when every set has heard of its last size: one that has not may still be making or deleting machines that nobody
has counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from kapstan.cluster.api.core import Machine, MachineDeployment, MachineSet
from kapstan.cluster.core.machinedeployment.choice import Choice, created
from kapstan.cluster.core.machinedeployment.desired import MAX_REPLICAS, limits_of
from kapstan.cluster.core.machinedeployment.proportion import scaled
from kapstan.cluster.core.machinedeployment.rollout import SetState, on_delete, rolling_update
from kapstan.cluster.skeleton.conditions import ConditionType, true_on

__all__ = ("first_size", "has_heard", "machines_of", "planned_sizes", "rolls", "state_of")

_NEW = "the set that is to be made"


def planned_sizes(deployment: MachineDeployment, choice: Choice, machines: Sequence[Machine]) -> dict[str, int]:
    """Name of a set → its new size, for those whose size changes now."""
    sets = [*choice.old, *([choice.new] if choice.new is not None else [])]
    old = [state_of(machine_set, machines) for machine_set in choice.old]
    alone = not any(state.wanted or state.actual for state in old)
    if not alone and not all(has_heard(machine_set) for machine_set in sets):
        return {}
    new = state_of(choice.new, machines) if choice.new is not None else None
    if deployment.spec.paused:
        before = {machine_set.name: _max_replicas(machine_set) for machine_set in sets}
        return scaled(limits_of(deployment), new, old, before, rolls=rolls(deployment))
    return _step(deployment, new, old) if new is not None else {}


def first_size(deployment: MachineDeployment, old: Sequence[MachineSet], machines: Sequence[Machine]) -> int:
    """How large a new set can be from the start."""
    if not all(has_heard(machine_set) for machine_set in old):
        return 0
    new = SetState(_NEW, datetime.now(UTC), 0, 0, 0)
    return _step(deployment, new, [state_of(machine_set, machines) for machine_set in old]).get(_NEW, 0)


def _step(deployment: MachineDeployment, new: SetState, old: Sequence[SetState]) -> dict[str, int]:
    limits = limits_of(deployment)
    return rolling_update(limits, new, old) if rolls(deployment) else on_delete(limits.replicas, new, old)


def rolls(deployment: MachineDeployment) -> bool:
    """Whether old machines are replaced step by step."""
    strategy = deployment.spec.rollout.strategy if deployment.spec.rollout is not None else None
    return strategy is None or strategy.type == "RollingUpdate"


def has_heard(machine_set: MachineSet) -> bool:
    """Whether a set has been looked at since its size last changed, successfully or not."""
    heard = max((condition.observed_generation or 0 for condition in machine_set.status.conditions), default=0)
    return machine_set.deleting or heard >= machine_set.metadata.generation


def state_of(machine_set: MachineSet, machines: Iterable[Machine]) -> SetState:
    """A machine that is going takes room, but nobody can count on it."""
    ours = machines_of(machine_set, machines)
    available = sum(true_on(machine, ConditionType.AVAILABLE) and not machine.deleting for machine in ours)
    wanted = 0 if machine_set.deleting else machine_set.spec.replicas or 0
    going = sum(machine.deleting for machine in ours)
    return SetState(machine_set.name, created(machine_set), wanted, len(ours), available, going)


def machines_of(machine_set: MachineSet, machines: Iterable[Machine]) -> list[Machine]:
    """The machines that a set controls."""
    found = []
    for machine in machines:
        controller = machine.controller_ref()
        if controller is not None and controller.uid == machine_set.uid:
            found.append(machine)
    return found


def _max_replicas(machine_set: MachineSet) -> int:
    text = machine_set.metadata.annotations.get(MAX_REPLICAS, "")
    return int(text) if text.isdecimal() else 0
