"""Many machines, as one condition of whoever has them: a set, a deployment, a cluster. Pure.

Each owner tells the same of its machines in the same words, so people who know one condition know them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.core import Machine
from kapstan.cluster.skeleton.conditions import ConditionType, false, false_on, get, true
from kapstan.cluster.skeleton.merging import Reasons, aggregate, report
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import shortened
from kapstan.machinery.meta import Condition

__all__ = (
    "DELAYS",
    "delayed",
    "is_to_be_remediated",
    "is_unhealthy",
    "machines_ready",
    "machines_up_to_date",
    "remediating",
    "with_delays",
)

# A new machine is not said to be out of date before its owner has had time to look at it.
_GRACE = timedelta(seconds=10)
_LONG, _LONG_DRAIN = timedelta(minutes=15), timedelta(minutes=5)
_READY = Reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
_UP_TO_DATE = Reasons(Reason.NOT_UP_TO_DATE, Reason.UP_TO_DATE_UNKNOWN, Reason.UP_TO_DATE)

# What a drain that takes long may be waiting for, by the words of the machine's condition Deleting.
DELAYS = {
    "cannot evict pod as it would violate the pod's disruption budget.": "PodDisruptionBudgets",
    "deletionTimestamp set, but still not removed from the Node": "Pods not terminating",
    "failed to evict Pod": "Pod eviction errors",
    "waiting for completion": "Pods not completed yet",
}


# --- Ready and up to date ---------------------------------------------------------------------------------------------


def machines_ready(type: str, machines: Sequence[Machine]) -> Condition:
    if not machines:
        return true(type, Reason.NO_REPLICAS)
    return aggregate(report(machines, ConditionType.READY), type, _READY)


def machines_up_to_date(type: str, machines: Sequence[Machine], *, now: datetime | None = None) -> Condition:
    now = now or datetime.now(UTC)
    judged = [machine for machine in machines if get(machine, ConditionType.UP_TO_DATE) or _is_old(machine, now)]
    if not judged:
        return true(type, Reason.NO_REPLICAS)
    return aggregate(report(judged, ConditionType.UP_TO_DATE), type, _UP_TO_DATE)


def _is_old(machine: Machine, now: datetime) -> bool:
    created = machine.metadata.creation_timestamp
    return created is not None and now - created > _GRACE


# --- Remediation ------------------------------------------------------------------------------------------------------


def is_unhealthy(machine: Machine) -> bool:
    """Whether a health check has found the machine wanting."""
    return false_on(machine, ConditionType.HEALTH_CHECK_SUCCEEDED)


def is_to_be_remediated(machine: Machine) -> bool:
    """Whether the machine's owner shall replace it."""
    return is_unhealthy(machine) and false_on(machine, ConditionType.OWNER_REMEDIATED)


def remediating(machines: Sequence[Machine], *, by: str = "") -> Condition:
    """Remediating. `by` says who would do it."""
    type = ConditionType.REMEDIATING
    chosen = [machine for machine in machines if is_to_be_remediated(machine)]
    if chosen:
        told = aggregate(report(chosen, ConditionType.OWNER_REMEDIATED), type, Reasons())
        return true(type, Reason.REMEDIATING, told.message)
    unhealthy = [machine.name for machine in machines if is_unhealthy(machine)]
    whose = f" by {by}" if by else ""
    message = f"{_named(unhealthy)} not healthy (not to be remediated{whose})" if unhealthy else ""
    return false(type, Reason.NOT_REMEDIATING, message)


# --- Deletions that take long -----------------------------------------------------------------------------------------


def with_delays(message: str, machines: Sequence[Machine], *, now: datetime | None = None) -> str:
    """A message about machines that go, with a line about those that take long, if there are any."""
    line = delayed(machines, now=now)
    return f"{message}\n* {line}" if line else message


def delayed(machines: Sequence[Machine], *, now: datetime | None = None) -> str:
    """Which machines take long to go, and what may be the cause; empty if none does."""
    now = now or datetime.now(UTC)
    late = [machine for machine in machines if _lasts(machine.metadata.deletion_timestamp, now, _LONG)]
    if not late:
        return ""
    found = {cause for machine in late for cause in _causes(machine, now)}
    causes = [cause for cause in DELAYS.values() if cause in found]
    likely = f", delay likely due to {', '.join(causes)}" if causes else ""
    return f"{_named([machine.name for machine in late])} in deletion since more than 15m{likely}"


def _causes(machine: Machine, now: datetime) -> list[str]:
    deleting, deletion = get(machine, ConditionType.DELETING), machine.status.deletion
    if deleting is None or deleting.status != "True" or deleting.reason != Reason.DRAINING_NODE or deletion is None:
        return []
    if not _lasts(deletion.node_drain_start_time, now, _LONG_DRAIN):
        return []
    return [cause for words, cause in DELAYS.items() if words in deleting.message]


def _lasts(since: datetime | None, now: datetime, limit: timedelta) -> bool:
    return since is not None and now - since > limit


def _named(names: Sequence[str]) -> str:
    noun, verb = ("Machine", "is") if len(names) == 1 else ("Machines", "are")
    return f"{noun} {shortened(sorted(names), 3)} {verb}"
