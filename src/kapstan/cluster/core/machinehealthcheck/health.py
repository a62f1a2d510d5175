"""Health: whether a machine is well, and if that is only a matter of time, when to look again. Pure.

A machine is unhealthy if somebody says so (an annotation), if its node is gone, if its node did not appear in time, or
if a condition of the machine or its node has had a bad status for too long. Before the cluster itself stands, no
machine is to blame, except that of a control plane, which may be why it does not stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.common import HealthChecks, UnhealthyMachineCondition, UnhealthyNodeCondition
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.conditions import Conditioned, ConditionType, false, get, true, true_on
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.duration import Duration
from kapstan.machinery.meta import Condition

__all__ = ("DEFAULT_NODE_STARTUP_TIMEOUT", "Target", "Verdict", "judge")

DEFAULT_NODE_STARTUP_TIMEOUT = 600  # seconds
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Target(NamedTuple):
    """A machine that is looked at, with its node."""

    machine: Machine
    node: Node | None = None
    node_gone: bool = False  # it had a node that is no more


class Verdict(NamedTuple):
    """What is known of a machine's health. With neither condition nor time, it is not judged for now."""

    target: Target
    condition: Condition | None = None  # HealthCheckSucceeded; None: nothing to say
    due: datetime | None = None  # when it will be unhealthy if nothing changes

    @property
    def machine(self) -> Machine:
        return self.target.machine

    @property
    def healthy(self) -> bool:
        return self.condition is not None and self.condition.status == "True"

    @property
    def unhealthy(self) -> bool:
        return self.condition is not None and self.condition.status == "False"


class _Finding(NamedTuple):
    """What one check has found: nothing, that it will be too late at a time, or that it is."""

    message: str = ""
    due: datetime | None = None
    reason: str = ""


def judge(target: Target, cluster: Cluster, checks: HealthChecks, at: datetime) -> Verdict:
    """Look at one machine."""
    machine = target.machine
    if labels.REMEDIATE_MACHINE in machine.metadata.annotations:
        message = f"Health check failed: marked for remediation via {labels.REMEDIATE_MACHINE} annotation"
        return Verdict(target, _failed(Reason.HAS_REMEDIATE_ANNOTATION, message))
    if not _may_be_judged(machine, cluster):
        return Verdict(target)
    findings = [*_of_machine(machine, checks, at), *_of_node(target, cluster, checks, at)]
    wrong = [finding for finding in findings if finding.message]
    if wrong:
        told = "\n".join(f"  * {finding.message}" for finding in wrong)
        return Verdict(target, _failed(wrong[0].reason, f"Health check failed:\n{told}"))
    times = [finding.due for finding in findings if finding.due is not None]
    if times:
        return Verdict(target, due=min(times))
    if target.node is None or machine.deleting:
        return Verdict(target)
    return Verdict(target, true(ConditionType.HEALTH_CHECK_SUCCEEDED, Reason.HEALTH_CHECK_SUCCEEDED))


def _may_be_judged(machine: Machine, cluster: Cluster) -> bool:
    is_control_plane = labels.CONTROL_PLANE in machine.metadata.labels
    if not true_on(cluster, ConditionType.CONTROL_PLANE_INITIALIZED) and not is_control_plane:
        return False
    return true_on(cluster, ConditionType.INFRASTRUCTURE_READY)


def _of_machine(machine: Machine, checks: HealthChecks, at: datetime) -> list[_Finding]:
    told = machine.status.conditions
    return [
        _lasting(found, check, "Machine", at)._replace(reason=Reason.UNHEALTHY_MACHINE)
        for check, found in _matches(checks.unhealthy_machine_conditions, told)
    ]


def _of_node(target: Target, cluster: Cluster, checks: HealthChecks, at: datetime) -> list[_Finding]:
    if target.node_gone:
        assert target.machine.status.node_ref is not None
        return [_Finding(f"Node {target.machine.status.node_ref.name} has been deleted", reason=Reason.NODE_DELETED)]
    if target.node is None:
        return [_startup(target.machine, cluster, checks, at)]
    return [
        _lasting(found, check, "Node", at)._replace(reason=Reason.UNHEALTHY_NODE)
        for check, found in _matches(checks.unhealthy_node_conditions, target.node.status.conditions)
    ]


def _startup(machine: Machine, cluster: Cluster, checks: HealthChecks, at: datetime) -> _Finding:
    """The time counts from when the last thing was there that a node needs."""
    timeout = checks.node_startup_timeout_seconds
    seconds = DEFAULT_NODE_STARTUP_TIMEOUT if timeout is None else timeout
    if seconds == 0:
        return _Finding()
    needed = (
        _true_since(cluster, ConditionType.INFRASTRUCTURE_READY),
        _true_since(cluster, ConditionType.CONTROL_PLANE_INITIALIZED),
        _true_since(machine, ConditionType.INFRASTRUCTURE_READY),
        machine.metadata.creation_timestamp or _LONG_AGO,
    )
    due = max(needed) + timedelta(seconds=seconds)
    if due <= at:
        return _Finding(
            f"Node failed to report startup in {Duration(seconds=seconds)}", reason=Reason.NODE_STARTUP_TIMEOUT
        )
    return _Finding(due=due)


class _Observed(Protocol):
    """A condition, of a machine or of a node."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def last_transition_time(self) -> datetime | None: ...


_Check = UnhealthyNodeCondition | UnhealthyMachineCondition


def _matches(checks: Sequence[_Check], told: Sequence[_Observed]) -> Iterable[tuple[_Check, _Observed]]:
    """The checks whose condition has the bad status."""
    known = {condition.type: condition for condition in told}
    for check in checks:
        found = known.get(check.type)
        if found is not None and found.status == check.status:
            yield check, found


def _lasting(found: _Observed, check: _Check, whose: str, at: datetime) -> _Finding:
    seconds = check.timeout_seconds
    due = (found.last_transition_time or _LONG_AGO) + timedelta(seconds=seconds)
    if due > at:
        return _Finding(due=due)
    return _Finding(
        f"Condition {check.type} on {whose} is reporting status {check.status} with reason {found.reason or ''} "
        f"for more than {Duration(seconds=seconds)}"
    )


def _true_since(obj: Conditioned, type: str) -> datetime:
    found = get(obj, type)
    if found is None or found.status != "True" or found.last_transition_time is None:
        return _LONG_AGO
    return found.last_transition_time


def _failed(reason: str, message: str) -> Condition:
    return false(ConditionType.HEALTH_CHECK_SUCCEEDED, reason, message)
