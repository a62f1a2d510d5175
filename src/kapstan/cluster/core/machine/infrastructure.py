"""The computer of a machine: the infrastructure provider's object is owned, and what it says is copied.

Once provisioned a machine stays so: infrastructure that breaks later shows in conditions.
"""

from __future__ import annotations

from kapstan.cluster.contract.objects import InfraMachine
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.failure import note_failure
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.core.ownership import adopt, adopted_by_machine
from kapstan.runtime.reconcile import Outcome, TerminalError

__all__ = ("reconcile_infrastructure",)


async def reconcile_infrastructure(scope: Scope) -> Outcome:
    machine = scope.machine
    referenced = scope.infrastructure = Referenced[InfraMachine](machine.spec.infrastructure_ref)
    found = await referenced.load(scope.providers, InfraMachine, machine.namespace)
    provisioned = scope.initialization.infrastructure_provisioned
    if found is None:
        if provisioned and not machine.deleting:
            ref = referenced.ref
            raise TerminalError(f"{machine}: {ref.kind} {ref.name} has been deleted after it was provisioned")
        return None  # when it is made, we are woken
    await adopt(scope.client, referenced, lambda document: adopted_by_machine(document, machine, scope.cluster))
    note_failure(machine, found)
    if found.deleting or not (found.provisioned or provisioned) or not found.provider_id:
        return None
    _copy(scope, found)
    scope.initialized(infrastructure=True)
    return None


def _copy(scope: Scope, found: InfraMachine) -> None:
    machine = scope.machine
    machine.spec.provider_id = found.provider_id
    machine.status.addresses = found.addresses or machine.status.addresses
    if found.failure_domain:
        machine.status.failure_domain = found.failure_domain
        if found.contract.legacy:
            machine.spec.failure_domain = found.failure_domain
