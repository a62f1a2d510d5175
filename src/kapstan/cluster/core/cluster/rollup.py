"""Roll-up: conditions of a cluster that say the same of everything it consists of.

Each is one condition of machines, deployments, sets or the control plane, merged into one of the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.cluster.descendants import Descendants
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.skeleton.conditions import Conditioned, ConditionType, false, get, true, unknown
from kapstan.cluster.skeleton.merging import Reasons, Reported, aggregate, report
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import shortened
from kapstan.machinery.meta import Condition
from kapstan.machinery.owners import has_owner

__all__ = (
    "conditions",
    "machines_ready",
    "machines_up_to_date",
    "not_listed",
    "progress",
    "remediating",
    "workers_available",
)

# A new machine is not said to be out of date before its owner has had time to look at it.
_GRACE = timedelta(seconds=10)
_READY = Reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
_UP_TO_DATE = Reasons(Reason.NOT_UP_TO_DATE, Reason.UP_TO_DATE_UNKNOWN, Reason.UP_TO_DATE)
_AVAILABLE = Reasons(Reason.NOT_AVAILABLE, Reason.AVAILABLE_UNKNOWN, Reason.AVAILABLE)


def conditions(
    cluster: Cluster, control_plane: Referenced[ControlPlane] | None, found: Descendants | None
) -> list[Condition]:
    """All of them; unknown if what they are about could not be read."""
    if found is None:
        return [not_listed(type) for type in (*_OF_MACHINES, *_PROGRESS)]
    unread = control_plane is not None and control_plane.error is not None
    provider = control_plane.found if control_plane is not None else None
    return [
        workers_available(found),
        machines_ready(ConditionType.CONTROL_PLANE_MACHINES_READY, found.control_plane),
        machines_ready(ConditionType.WORKER_MACHINES_READY, found.workers_outside_pools),
        machines_up_to_date(ConditionType.CONTROL_PLANE_MACHINES_UP_TO_DATE, found.control_plane),
        machines_up_to_date(ConditionType.WORKER_MACHINES_UP_TO_DATE, found.workers_outside_pools),
        remediating(found),
        *(not_listed(type) if unread else progress(type, cluster, provider, found) for type in _PROGRESS),
    ]


_OF_MACHINES = (
    ConditionType.WORKERS_AVAILABLE,
    ConditionType.CONTROL_PLANE_MACHINES_READY,
    ConditionType.WORKER_MACHINES_READY,
    ConditionType.CONTROL_PLANE_MACHINES_UP_TO_DATE,
    ConditionType.WORKER_MACHINES_UP_TO_DATE,
    ConditionType.REMEDIATING,
)


def not_listed(type: str) -> Condition:
    """What can be said of parts of the cluster that could not be read."""
    return unknown(type, Reason.INTERNAL_ERROR, "The parts of the cluster could not be read, see the log")


def machines_ready(type: ConditionType, machines: Sequence[Machine]) -> Condition:
    if not machines:
        return true(type, Reason.NO_REPLICAS)
    return aggregate(report(machines, ConditionType.READY), type, _READY)


def machines_up_to_date(type: ConditionType, machines: Sequence[Machine], *, now: datetime | None = None) -> Condition:
    now = now or datetime.now(UTC)
    judged = [machine for machine in machines if get(machine, ConditionType.UP_TO_DATE) or _is_old(machine, now)]
    if not judged:
        return true(type, Reason.NO_REPLICAS)
    return aggregate(report(judged, ConditionType.UP_TO_DATE), type, _UP_TO_DATE)


def _is_old(machine: Machine, now: datetime) -> bool:
    created = machine.metadata.creation_timestamp
    return created is not None and now - created > _GRACE


def workers_available(descendants: Descendants) -> Condition:
    if not descendants.deployments:
        return true(ConditionType.WORKERS_AVAILABLE, Reason.NO_WORKERS)
    reported = report(descendants.deployments, ConditionType.AVAILABLE)
    return aggregate(reported, ConditionType.WORKERS_AVAILABLE, _AVAILABLE)


class _Progress(NamedTuple):
    """Something that may be going on, in any part of the cluster."""

    reasons: Reasons
    sets: bool  # whether MachineSets of the cluster's own take part


_PROGRESS = {
    ConditionType.ROLLING_OUT: _Progress(
        Reasons(Reason.ROLLING_OUT, Reason.ROLLING_OUT_UNKNOWN, Reason.NOT_ROLLING_OUT), sets=False
    ),
    ConditionType.SCALING_UP: _Progress(
        Reasons(Reason.SCALING_UP, Reason.SCALING_UP_UNKNOWN, Reason.NOT_SCALING_UP), sets=True
    ),
    ConditionType.SCALING_DOWN: _Progress(
        Reasons(Reason.SCALING_DOWN, Reason.SCALING_DOWN_UNKNOWN, Reason.NOT_SCALING_DOWN), sets=True
    ),
}


def progress(
    type: ConditionType, cluster: Cluster, control_plane: ControlPlane | None, descendants: Descendants
) -> Condition:
    """RollingOut, ScalingUp or ScalingDown: it is if any part is."""
    reasons, with_sets = _PROGRESS[type]
    parts: list[Conditioned] = [*descendants.deployments]
    if with_sets:
        parts += [machine_set for machine_set in descendants.sets if has_owner(cluster, machine_set)]
    reported = [*_of_provider(control_plane, type), *report(parts, type)]
    if not reported:
        return false(type, reasons.info)
    return aggregate(reported, type, reasons, negative=True)


def _of_provider(control_plane: ControlPlane | None, type: str) -> list[Reported]:
    """The contract does not demand conditions of a control plane, so nothing is said where it has none."""
    found = control_plane.condition(type) if control_plane is not None else None
    return [Reported(found, control_plane.kind, control_plane.name)] if control_plane is not None and found else []


def remediating(descendants: Descendants) -> Condition:
    type = ConditionType.REMEDIATING
    if not descendants.to_be_remediated:
        return false(type, Reason.NOT_REMEDIATING, _unhealthy(descendants.unhealthy))
    reported = report(descendants.to_be_remediated, ConditionType.OWNER_REMEDIATED)
    return true(type, Reason.REMEDIATING, aggregate(reported, type, Reasons()).message)


def _unhealthy(machines: Collection[Machine]) -> str:
    if not machines:
        return ""
    names = shortened((machine.name for machine in machines), 3)
    noun, verb = ("Machine", "is") if len(machines) == 1 else ("Machines", "are")
    return f"{noun} {names} {verb} not healthy (not to be remediated)"
