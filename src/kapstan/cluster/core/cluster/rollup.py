"""Roll-up: conditions of a cluster that say the same of everything it consists of.

Each is one condition of machines, deployments, sets or the control plane, merged into one of the cluster.
"""

from __future__ import annotations

from typing import NamedTuple

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.cluster.descendants import Descendants, is_standalone
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.core.machines import machines_ready, machines_up_to_date, remediating
from kapstan.cluster.skeleton.conditions import Conditioned, ConditionType, false, true, unknown
from kapstan.cluster.skeleton.merging import Reasons, Reported, aggregate, report
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition

__all__ = ("conditions", "not_listed", "progress", "workers_available")

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
        remediating(found.outside_pools),
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
        parts += [machine_set for machine_set in descendants.sets if is_standalone(machine_set, cluster)]
    reported = [*_of_provider(control_plane, type), *report(parts, type)]
    if not reported:
        return false(type, reasons.info)
    return aggregate(reported, type, reasons, negative=True)


def _of_provider(control_plane: ControlPlane | None, type: str) -> list[Reported]:
    """The contract does not demand conditions of a control plane, so nothing is said where it has none."""
    found = control_plane.condition(type) if control_plane is not None else None
    return [Reported(found, control_plane.kind, control_plane.name)] if control_plane is not None and found else []
