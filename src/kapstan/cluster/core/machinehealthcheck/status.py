"""The status of a check, computed from what it found. Pure, but for one event."""

from __future__ import annotations

from datetime import UTC, datetime

from kapstan.cluster.core.machinehealthcheck.scope import Examination, Scope
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("observe", "remediation_allowed")

# A timer must not ring before the time that it is set to.
_LATER = 0.05


def observe(scope: Scope) -> Outcome:
    """Count, and look again exactly when a machine will have been unwell for too long."""
    examination, check = scope.examination, scope.check
    if examination is None:
        return None
    status = check.status
    status.expected_machines = len(examination.verdicts)
    status.current_healthy = examination.healthy
    status.remediations_allowed = examination.allowance.left
    status.targets = sorted(verdict.machine.name for verdict in examination.verdicts)
    allowed = remediation_allowed(examination)
    old = get(check, ConditionType.REMEDIATION_ALLOWED)
    put(check, allowed)
    if allowed.status == "False" and _is_news(old) and any(verdict.unhealthy for verdict in examination.verdicts):
        scope.events.warning(check, "RemediationRestricted", allowed.message)
    return _next_look(examination)


def remediation_allowed(examination: Examination) -> Condition:
    type, allowance = ConditionType.REMEDIATION_ALLOWED, examination.allowance
    if allowance.allowed:
        return true(type, Reason.REMEDIATION_ALLOWED)
    return false(type, Reason.TOO_MANY_UNHEALTHY, allowance.message)


def _is_news(old: Condition | None) -> bool:
    return old is None or old.status != "False"


def _next_look(examination: Examination) -> Outcome:
    times = [verdict.due for verdict in examination.verdicts if verdict.due is not None]
    if not times:
        return None
    left = (min(times) - datetime.now(UTC)).total_seconds()
    return Result(requeue_after=max(left, 0) + _LATER)
