"""Says of a SimulatedMachineTemplate what its machines will have, so that an autoscaler can begin with none."""

from __future__ import annotations

from kapstan.cluster.api.infrastructure.group import GROUP
from kapstan.cluster.api.infrastructure.simulatedtemplates import SimulatedMachineTemplate
from kapstan.cluster.skeleton.draft import Draft
from kapstan.runtime.declaration import controller, rbac
from kapstan.runtime.predicate import generation_changed
from kapstan.runtime.reconcile import Outcome, Reconciler

__all__ = ("SimulatedMachineTemplateReconciler",)


@controller(SimulatedMachineTemplate, when=generation_changed, max_concurrent_reconciles=10)
@rbac(GROUP, "simulatedmachinetemplates;simulatedmachinetemplates/status", verbs="get;list;watch;patch")
class SimulatedMachineTemplateReconciler(Reconciler[SimulatedMachineTemplate]):
    """Reconciles SimulatedMachineTemplates."""

    async def reconcile(self, template: SimulatedMachineTemplate) -> Outcome:
        draft = Draft(self.client, template)
        template.status.capacity = template.spec.template.spec.capacity
        await draft.save_status()
        return None
