"""Workers: a set or a deployment of machines. What the reconcile of either begins with.

Webhooks may not be there. What they would fill in is filled in here, too, and what they would refuse is left alone: a
set whose own machines do not match its selector would make machines without end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeVar

from kapstan.cluster.api.core import Cluster, MachineDeployment, MachineSet
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.paused import is_paused
from kapstan.machinery.owners import add_finalizer, has_finalizer
from kapstan.machinery.validation import FieldError, aggregate
from kapstan.runtime.reconcile import Outcome, Reconciler, TerminalError

__all__ = ("WorkersReconciler",)

W = TypeVar("W", MachineSet, MachineDeployment)


class WorkersReconciler(Reconciler[W]):
    """Reconciles sets or deployments of machines."""

    finalizer: ClassVar[str]

    async def reconcile(self, workers: W) -> Outcome:
        cluster = await self.client.find(Cluster, workers.spec.cluster_name, workers.namespace)
        if cluster is None:
            self.log.info("Cluster %s does not exist (yet): %s waits", workers.spec.cluster_name, workers)
            return None
        draft = Draft(self.client, workers)
        if not await self._is_held(draft, cluster):
            return None
        if await is_paused(draft, cluster):
            return None
        return await self.reconcile_held(draft, cluster)

    async def _is_held(self, draft: Draft[W], cluster: Cluster) -> bool:
        """Nothing is done for workers that could vanish before it is undone. They get labels and an owner, too."""
        workers = draft.obj
        if workers.deleting:
            return has_finalizer(workers, self.finalizer)
        try:
            self.prepare(workers, cluster)
            errors = list(self.errors(workers))
            wrong = aggregate(errors) if errors else ""
        except ValueError as error:
            wrong = str(error)
        if wrong:
            self.events.warning(workers, "Invalid", wrong)
            raise TerminalError(f"{workers} is invalid: {wrong}")
        add_finalizer(workers, self.finalizer)
        await draft.save()
        return True

    def prepare(self, workers: W, cluster: Cluster) -> None:
        """Fill in what can be known, and who owns them. ValueError if they say what cannot be."""
        raise NotImplementedError

    def errors(self, workers: W) -> Iterable[FieldError]:
        """What is wrong with them."""
        raise NotImplementedError

    async def reconcile_held(self, draft: Draft[W], cluster: Cluster) -> Outcome:
        """What is to be done once they are held."""
        raise NotImplementedError
