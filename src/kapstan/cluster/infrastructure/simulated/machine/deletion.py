"""Deletion: the computer takes its time to go, then its node is silent, then the object may go."""

from __future__ import annotations

from kapstan.cluster.infrastructure.simulated.fate import duration
from kapstan.cluster.infrastructure.simulated.machine.scope import Scope, Waiting
from kapstan.cluster.infrastructure.simulated.progress import remaining
from kapstan.machinery.owners import remove_finalizer
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("FINALIZER", "delete_computer")

FINALIZER = "infrastructure.cluster.x-k8s.io/simulatedmachine"


async def delete_computer(scope: Scope) -> Outcome:
    computer = scope.computer
    takes = duration(computer.spec.deletion, computer.uid, "deletion")
    rest = remaining(computer.metadata.deletion_timestamp, takes)
    if rest:
        scope.waiting = Waiting("Deleting", "The computer is being deleted")
        return Result(requeue_after=rest)
    if scope.cluster_key is not None:
        await scope.computers.off(scope.cluster_key, computer.name)
    remove_finalizer(computer, FINALIZER)
    return None
