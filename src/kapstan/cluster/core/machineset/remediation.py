"""Remediation: machines that a health check has given up are deleted, and others are made in their place.

Only in the current set of a deployment: what a rollout leaves behind goes anyway. Never more at once than the
deployment allows, those first that somebody has marked, then the newest: they have the least to lose.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.cluster.api.core import Machine, MachineDeployment
from kapstan.cluster.core.machinedeployment.rollout import share
from kapstan.cluster.core.machines import is_to_be_remediated
from kapstan.cluster.core.machineset.creation import note_names
from kapstan.cluster.core.machineset.preflight import failed_checks
from kapstan.cluster.core.machineset.scope import Scope
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true_on
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
from kapstan.runtime.reconcile import Outcome

__all__ = ("allowed_at_once", "reconcile_unhealthy", "to_remediate")

_TYPE = ConditionType.OWNER_REMEDIATED


async def reconcile_unhealthy(scope: Scope) -> Outcome:
    await _forgive(scope)
    chosen = to_remediate(scope.present)
    if not chosen:
        return None
    if not scope.is_current:
        message = "Machine won't be remediated because it is pending removal due to rollout"
        await _say(scope, chosen, false(_TYPE, Reason.CANNOT_BE_REMEDIATED, message))
        return None
    room = allowed_at_once(scope.deployment, scope.present)
    chosen, deferred = (chosen, []) if room is None else (chosen[:room], chosen[room:])
    if deferred:
        await _say(scope, deferred, false(_TYPE, Reason.REMEDIATION_DEFERRED, _too_many(scope.deployment)))
    failed = await failed_checks(scope) if chosen else []
    if failed:
        message = "\n".join(f"* {text}" for text in failed)
        await _say(scope, chosen, false(_TYPE, Reason.REMEDIATION_DEFERRED, message))
    elif chosen:
        await _remediate(scope, chosen)
    return None


def to_remediate(machines: Sequence[Machine]) -> list[Machine]:
    """Machines to be replaced, in the order in which that is done."""
    chosen = [machine for machine in machines if is_to_be_remediated(machine) and not machine.deleting]
    by_name = sorted(chosen, key=lambda machine: machine.name)
    newest_first = sorted(by_name, key=lambda machine: str(machine.metadata.creation_timestamp), reverse=True)
    return sorted(newest_first, key=lambda machine: labels.REMEDIATE_MACHINE not in machine.metadata.annotations)


def allowed_at_once(deployment: MachineDeployment | None, machines: Sequence[Machine]) -> int | None:
    """How many more machines may be in replacement; None: any number."""
    remediation = deployment.spec.remediation if deployment is not None else None
    if deployment is None or remediation is None or remediation.max_in_flight is None:
        return None
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    most = share(remediation.max_in_flight, replicas, round_up=True)
    return max(most - sum(_is_in_flight(machine) for machine in machines), 0)


def _is_in_flight(machine: Machine) -> bool:
    said = get(machine, _TYPE)
    return machine.deleting and said is not None and (said.status, said.reason) == ("False", Reason.MACHINE_DELETING)


def _too_many(deployment: MachineDeployment | None) -> str:
    remediation = deployment.spec.remediation if deployment is not None else None
    limit = remediation.max_in_flight if remediation is not None else None
    return (
        "Waiting because there are already too many remediations in progress "
        f"(spec.strategy.remediation.maxInFlight is {limit})"
    )


async def _forgive(scope: Scope) -> None:
    """A machine that has recovered is no longer to be remediated."""
    for machine in scope.present:
        said = get(machine, _TYPE)
        if machine.deleting or said is None or said.status != "False":
            continue
        if true_on(machine, ConditionType.HEALTH_CHECK_SUCCEEDED):
            draft = Draft(scope.client, machine)
            machine.status.conditions = [one for one in machine.status.conditions if one.type != _TYPE]
            await draft.save_status()


async def _remediate(scope: Scope, machines: Sequence[Machine]) -> None:
    """Say so before it is done: afterwards a machine that is going would no longer be looked at."""
    await _say(scope, machines, false(_TYPE, Reason.MACHINE_DELETING, "Machine is deleting"))
    await note_names(scope)
    for machine in machines:
        await scope.client.delete(machine, uid=machine.uid)
        scope.events.normal(scope.machine_set, "SuccessfulDelete", f'Deleted unhealthy Machine "{machine.name}"')


async def _say(scope: Scope, machines: Sequence[Machine], condition: Condition) -> None:
    for machine in machines:
        draft = Draft(scope.client, machine)
        put(machine, condition)
        await draft.save_status()
