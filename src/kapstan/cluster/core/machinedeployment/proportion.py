"""Scaling a deployment that is paused in the middle of a rollout: each set keeps its part of the whole. Pure.

Were only one of them scaled, the rollout would go on although it is paused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapstan.cluster.core.machinedeployment.rollout import Bounds, SetState

__all__ = ("scaled",)


def scaled(
    limits: Bounds, new: SetState | None, old: Sequence[SetState], before: Mapping[str, int], *, rolls: bool
) -> dict[str, int]:
    """Name of a set → its new size, for those whose size changes. `before` is how many machines there could be in all
    when a set was last looked at."""
    everything = [*old, *([new] if new is not None else [])]
    active = [state for state in everything if state.wanted > 0]
    if len(active) <= 1:
        latest = active or ([new] if new is not None else sorted(old, key=lambda state: state.created)[-1:])
        return _changed(latest, {state.name: limits.replicas for state in latest})
    if new is not None and new.wanted == new.available == limits.replicas:
        return _changed(old, {state.name: 0 for state in old})
    return _changed(active, _parts(limits, active, before)) if rolls else {}


def _parts(limits: Bounds, active: Sequence[SetState], before: Mapping[str, int]) -> dict[str, int]:
    total = limits.most if limits.replicas else 0
    change = total - sum(state.wanted for state in active)
    if not change:
        return {}
    # The largest first; of the same size, the newest grows and the oldest shrinks.
    direction = -1 if change > 0 else 1
    ordered = sorted(active, key=lambda state: (-state.wanted, direction * state.created.timestamp()))
    sizes, left = {}, change
    for state in ordered:
        part = _part(state, total, before.get(state.name) or sum(one.wanted for one in active))
        part = min(max(part, 0), left) if change > 0 else max(min(part, 0), left)
        sizes[state.name] = state.wanted + part
        left -= part
    for state in ordered:  # what rounding has left is for the largest, as far as that goes
        size = max(sizes[state.name] + left, 0)
        left -= size - sizes[state.name]
        sizes[state.name] = size
    return sizes


def _part(state: SetState, total: int, before: int) -> int:
    return int(state.wanted * total / before + 0.5) - state.wanted if total else -state.wanted


def _changed(states: Sequence[SetState], sizes: Mapping[str, int]) -> dict[str, int]:
    return {state.name: sizes[state.name] for state in states if sizes.get(state.name, state.wanted) != state.wanted}
