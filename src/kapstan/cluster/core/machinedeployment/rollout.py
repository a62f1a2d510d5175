"""The next step of a rollout: how large each MachineSet shall be. Pure arithmetic over what was last seen.

What it keeps true at every step, with whatever the machines do in between:
- there are never more machines than the wanted number and the surge;
- it never takes away a machine if that could leave fewer available ones than the wanted number without those that may
  be missing. Which machine goes is the MachineSet's choice, so the worst is assumed: an available one;
- while new machines do not become available, old ones stay: a broken template must not spread.

One exception breaks a deadlock: where nothing else can move, an old set with an unavailable machine shrinks by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from kapstan.machinery.meta import IntOrString

__all__ = ("Bounds", "SetState", "bounds", "on_delete", "rolling_update", "share")


class SetState(NamedTuple):
    """A MachineSet, as far as a rollout looks at it."""

    name: str
    created: datetime
    wanted: int  # spec.replicas
    actual: int  # status.replicas
    available: int  # status.availableReplicas
    going: int = 0  # of the actual ones, those that are being deleted


class Bounds(NamedTuple):
    """How far a rolling update may go."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        return self.replicas + self.surge

    @property
    def least_available(self) -> int:
        return max(self.replicas - self.unavailable, 0)


def bounds(replicas: int, surge: IntOrString | None, unavailable: IntOrString | None) -> Bounds:
    """Percentages resolved: surge rounded up, unavailable rounded down; if both come to nothing, one may be missing."""
    extra = share(1 if surge is None else surge, replicas, round_up=True)
    missing = share(0 if unavailable is None else unavailable, replicas, round_up=False)
    if extra == missing == 0:
        missing = 1
    return Bounds(replicas, extra, min(missing, replicas))


def share(value: IntOrString, total: int, *, round_up: bool) -> int:
    """A number, or a percentage of the total."""
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value or not number.isdecimal():
        raise ValueError(f"{value!r} is neither a number nor a percentage such as 25%")
    parts = int(number) * total
    return -(-parts // 100) if round_up else parts // 100


def rolling_update(limits: Bounds, new: SetState, old: Sequence[SetState]) -> dict[str, int]:
    """Name of a MachineSet → its new size, for those whose size changes now."""
    oldest_first = sorted(old, key=lambda state: (state.created, state.name))
    sizes = _grow(new, limits.most, limits.replicas, [new, *old])
    sizes |= _shrink(limits, new, oldest_first, sizes)
    return sizes or _break_deadlock(new, oldest_first)


def on_delete(replicas: int, new: SetState, old: Sequence[SetState]) -> dict[str, int]:
    """The same where people delete old machines themselves: the new set takes the place of what they deleted."""
    oldest_first = sorted(old, key=lambda state: (state.created, state.name))
    sizes = _grow(new, replicas, replicas, [new, *old])
    # A machine that is deleted from an old set is not made again there: the set has to know before the machine is gone.
    left = {state.name: min(state.wanted, state.actual - state.going) for state in oldest_first}
    surplus = sizes.get(new.name, new.wanted) + sum(left.values()) - replicas
    for state in oldest_first:
        taken = min(left[state.name], max(surplus, 0))
        left[state.name] -= taken
        surplus -= taken
    return sizes | {state.name: left[state.name] for state in oldest_first if left[state.name] != state.wanted}


def _grow(new: SetState, most: int, replicas: int, everything: Sequence[SetState]) -> dict[str, int]:
    """Let the new set grow into the room that there is; or shrink it to what is wanted, if it is larger."""
    if new.wanted >= replicas:
        return {new.name: replicas} if new.wanted > replicas else {}
    # A machine that is still being deleted takes room, and so does one that is yet to be made.
    present = sum(max(state.wanted, state.actual) for state in everything)
    size = new.wanted + min(most - present, replicas - new.wanted)
    return {new.name: size} if size > new.wanted else {}


def _shrink(limits: Bounds, new: SetState, old: Sequence[SetState], sizes: Mapping[str, int]) -> dict[str, int]:
    """Take away old machines, as many as can be spared: those that nobody would miss first."""
    everything = [new, *old]
    leaving = sum(max(state.actual - min(state.wanted, sizes.get(state.name, state.wanted)), 0) for state in everything)
    failing = max(new.wanted - new.available, 0)
    budget = sum(state.wanted for state in everything) - leaving - limits.least_available - failing
    spare = sum(state.available for state in everything) - limits.least_available
    left = {state.name: state.wanted for state in old}
    for only_unavailable in (True, False):
        for state in old:
            size = left[state.name]
            most = size - state.available if only_unavailable else size
            taken, lost = _affordable(state, size, min(most, budget), spare)
            left[state.name] -= taken
            budget -= taken
            spare -= lost
    return {state.name: left[state.name] for state in old if left[state.name] != state.wanted}


def _affordable(state: SetState, size: int, taken: int, spare: int) -> tuple[int, int]:
    """How many of the machines to be taken a set can give, and how many available ones that may cost."""
    if taken <= 0:
        return 0, 0
    if state.available <= 0:
        return taken, 0
    # A replica that was never made costs nothing; only existing machines do.
    deleted = max(state.actual - (size - taken), 0)
    if deleted > max(spare, 0):
        smallest = min(state.actual - max(spare, 0), size)
        taken = max(size - smallest, 0)
        deleted = max(state.actual - smallest, 0)
    return taken, min(state.available, deleted)


def _break_deadlock(new: SetState, old: Sequence[SetState]) -> dict[str, int]:
    """Nothing moves, the new machines are well, and an old set has machines that are not: it gives up one."""
    moving = any(state.wanted != state.actual for state in (new, *old))
    if moving or new.available != new.actual:
        return {}
    for state in old:
        if state.wanted and state.available < state.actual:
            return {state.name: state.wanted - 1}
    return {}
