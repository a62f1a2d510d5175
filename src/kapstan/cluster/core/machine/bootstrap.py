"""What a machine starts with: the bootstrap provider's object is owned, and the name of its Secret is copied."""

from __future__ import annotations

from kapstan.cluster.contract.objects import BootstrapConfig, ContractViolation
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.failure import note_failure
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.core.ownership import adopt, adopted_by_machine
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_bootstrap",)


async def reconcile_bootstrap(scope: Scope) -> Outcome:
    machine = scope.machine
    ref = machine.spec.bootstrap.config_ref
    if ref is None:
        return None  # the user has made the Secret
    referenced = scope.bootstrap = Referenced[BootstrapConfig](ref)
    found = await referenced.load(scope.providers, BootstrapConfig, machine.namespace)
    if found is None:
        return None  # when it is made, we are woken
    await adopt(scope.client, referenced, lambda document: adopted_by_machine(document, machine, scope.cluster))
    note_failure(machine, found)
    if machine.spec.bootstrap.data_secret_name is None:
        if found.deleting or not found.data_secret_created:
            return None
        if not found.data_secret_name:
            raise ContractViolation(f"{found.kind} {found.name} says that its Secret is made, but not how it is called")
        machine.spec.bootstrap.data_secret_name = found.data_secret_name
    scope.initialized(bootstrap=True)
    return None
