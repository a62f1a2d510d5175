"""Remediation: machines are told what was found, and whoever is to remediate the unhealthy ones is asked to.

That is the machine's owner, by the condition OwnerRemediated, or somebody else, by a request made from a template. As
long as more machines are unhealthy than may be, they are told so, but nobody is asked.
"""

from __future__ import annotations

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.external import NotInstalled
from kapstan.cluster.core.machinehealthcheck.health import Verdict
from kapstan.cluster.core.machinehealthcheck.requests import TemplateNotFound
from kapstan.cluster.core.machinehealthcheck.scope import Scope
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put
from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.phases import PhasesFailed
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.meta import Condition
from kapstan.runtime.reconcile import Outcome

__all__ = ("remediate",)

_NOT_ASKED = (Reason.REMEDIATION_TEMPLATE_NOT_FOUND, Reason.REMEDIATION_REQUEST_CREATION_FAILED)


async def remediate(scope: Scope) -> Outcome:
    """Every machine gets its turn, whatever goes wrong with another."""
    examination = scope.examination
    if examination is None:
        return None
    errors: list[KapstanError] = []
    for verdict in examination.verdicts:
        try:
            await _tell(scope, verdict, ask=examination.allowance.allowed)
        except KapstanError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise PhasesFailed("; ".join(str(error) for error in errors))
    return None


async def _tell(scope: Scope, verdict: Verdict, *, ask: bool) -> None:
    machine, template = verdict.machine, scope.template
    draft = Draft(scope.client, machine)
    was_unhealthy = _is_marked(machine)
    if verdict.condition is not None:
        _say(machine, verdict.condition)
    error: KapstanError | None = None
    if ask and template is not None:
        error = await _ask_somebody(scope, verdict)
    elif ask and verdict.unhealthy:
        _ask_owner(machine)
    await draft.save_status()
    if verdict.unhealthy and not was_unhealthy:
        note = f"Machine {machine.key} has been marked as unhealthy by {scope.check.key}"
        scope.events.normal(machine, "MachineMarkedUnhealthy", note)
    if error is not None:
        raise error


def _ask_owner(machine: Machine) -> None:
    """A remediation that has begun is the owner's; one that is over and did not help is asked for again."""
    asked = get(machine, ConditionType.OWNER_REMEDIATED)
    if machine.deleting or (asked is not None and asked.status != "True"):
        return
    put(machine, false(ConditionType.OWNER_REMEDIATED, Reason.WAITING_FOR_REMEDIATION, "Waiting for remediation"))


async def _ask_somebody(scope: Scope, verdict: Verdict) -> KapstanError | None:
    """Make the machine's request, or take it back. What goes wrong is said on the machine, too."""
    machine, template = verdict.machine, scope.template
    assert template is not None
    type = ConditionType.EXTERNALLY_REMEDIATED
    try:
        if verdict.healthy:
            await scope.requests.take_back(template, machine)
        elif verdict.unhealthy:
            _wait_for_somebody(machine, asked_now=await scope.requests.make(template, machine))
    except (TemplateNotFound, NotInstalled) as error:
        if verdict.unhealthy:
            wanted = f"{template.kind} {machine.namespace}/{template.name}"
            message = f"Error retrieving remediation template {wanted}"
            _say(machine, false(type, Reason.REMEDIATION_TEMPLATE_NOT_FOUND, message))
        return error
    except KapstanError as error:
        if verdict.unhealthy:
            message = "Please check controller logs for errors"
            _say(machine, false(type, Reason.REMEDIATION_REQUEST_CREATION_FAILED, message))
        return error
    return None


def _wait_for_somebody(machine: Machine, *, asked_now: bool) -> None:
    """From when somebody was asked, what is said is theirs to say; that nobody could be asked is of the past."""
    told = get(machine, ConditionType.EXTERNALLY_REMEDIATED)
    if asked_now or told is None or told.reason in _NOT_ASKED:
        put(machine, false(ConditionType.EXTERNALLY_REMEDIATED, Reason.WAITING_FOR_REMEDIATION))


def _say(machine: Machine, condition: Condition) -> None:
    """Put a condition on a machine unless it says the same already: who wrote it last is of no interest."""
    old = get(machine, condition.type)
    if old is None or (old.status, old.reason, old.message) != (condition.status, condition.reason, condition.message):
        put(machine, condition)


def _is_marked(machine: Machine) -> bool:
    said = get(machine, ConditionType.HEALTH_CHECK_SUCCEEDED)
    return said is not None and said.status == "False"
