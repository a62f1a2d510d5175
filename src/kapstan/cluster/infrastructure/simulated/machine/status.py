"""The status of a SimulatedMachine, computed from what a reconcile has seen."""

from __future__ import annotations

from kapstan.cluster.infrastructure.simulated.machine.scope import Scope
from kapstan.cluster.skeleton.conditions import ConditionType, false, put, true
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.runtime.reconcile import Outcome

__all__ = ("observe",)


def observe(scope: Scope) -> Outcome:
    computer, waiting = scope.computer, scope.waiting
    if waiting is not None:
        put(computer, false(ConditionType.READY, waiting.reason, waiting.message))
    elif scope.provisioned:
        put(computer, true(ConditionType.READY, "Running"))
    if computer.deleting:
        put(computer, true(ConditionType.DELETING, Reason.DELETING, waiting.message if waiting else ""))
    return None
