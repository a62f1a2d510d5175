"""Counters of a cluster: how many machines its control plane and its workers have. Pure sums.

A number that nobody reports is absent, not zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachinePool, MachineSet
from kapstan.cluster.api.core.cluster import ReplicaCounts
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.core.cluster.descendants import Descendants, is_standalone
from kapstan.cluster.core.versions import counted, total
from kapstan.cluster.skeleton.conditions import ConditionType, true_on

__all__ = ("of_control_plane", "of_group", "of_machines", "of_workers", "summed")


def of_control_plane(provider: ControlPlane) -> ReplicaCounts:
    """As the provider says; a control plane need not have machines."""
    return ReplicaCounts(
        desired_replicas=provider.desired_replicas,
        replicas=provider.replicas,
        up_to_date_replicas=provider.up_to_date_replicas,
        ready_replicas=provider.ready_replicas,
        available_replicas=provider.available_replicas,
        versions=provider.versions,
    )


def of_workers(cluster: Cluster, descendants: Descendants) -> ReplicaCounts:
    """Deployments and pools, and the sets and machines that are part of nothing but the cluster."""
    standalone = [machine for machine in descendants.workers_outside_pools if is_standalone(machine, cluster)]
    sets = [machine_set for machine_set in descendants.sets if is_standalone(machine_set, cluster)]
    groups: list[MachinePool | MachineDeployment | MachineSet] = [*descendants.pools, *descendants.deployments, *sets]
    return summed([*map(of_group, groups), of_machines(standalone)])


def of_group(group: MachinePool | MachineDeployment | MachineSet) -> ReplicaCounts:
    status = group.status
    return ReplicaCounts(
        desired_replicas=group.spec.replicas,
        replicas=status.replicas,
        up_to_date_replicas=status.up_to_date_replicas,
        ready_replicas=status.ready_replicas,
        available_replicas=status.available_replicas,
        versions=status.versions,
    )


def of_machines(machines: Collection[Machine]) -> ReplicaCounts:
    """Machines that nobody counts but us. That they exist is all that is known of how many are wanted."""

    def having(type: str) -> int | None:
        return sum(true_on(machine, type) for machine in machines) or None

    return ReplicaCounts(
        desired_replicas=len(machines) or None,
        replicas=len(machines) or None,
        up_to_date_replicas=having(ConditionType.UP_TO_DATE),
        ready_replicas=having(ConditionType.READY),
        available_replicas=having(ConditionType.AVAILABLE),
        versions=counted(machines),
    )


def summed(counts: Collection[ReplicaCounts]) -> ReplicaCounts:
    return ReplicaCounts(
        desired_replicas=_sum(count.desired_replicas for count in counts),
        replicas=_sum(count.replicas for count in counts),
        up_to_date_replicas=_sum(count.up_to_date_replicas for count in counts),
        ready_replicas=_sum(count.ready_replicas for count in counts),
        available_replicas=_sum(count.available_replicas for count in counts),
        versions=total(version for count in counts for version in count.versions),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
