"""Descendants: everything that carries the label of a cluster: deployments, sets, pools and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kapstan.client.interface import metadata_of
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachinePool, MachineSet
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.wording import shortened
from kapstan.machinery.model import Resource
from kapstan.machinery.owners import has_owner
from kapstan.runtime.cachedclient import CachedClient

__all__ = ("Descendants", "is_standalone", "list_descendants", "machines_left")


@dataclass(frozen=True)
class Descendants:
    """What belongs to a cluster, sorted by name."""

    deployments: Sequence[MachineDeployment] = ()
    sets: Sequence[MachineSet] = ()
    pools: Sequence[MachinePool] = ()
    machines: Sequence[Machine] = ()

    @cached_property
    def control_plane(self) -> list[Machine]:
        return [machine for machine in self.machines if labels.CONTROL_PLANE in machine.metadata.labels]

    @cached_property
    def workers(self) -> list[Machine]:
        return [machine for machine in self.machines if labels.CONTROL_PLANE not in machine.metadata.labels]

    @cached_property
    def workers_outside_pools(self) -> list[Machine]:
        """Machines of a pool are the pool's to count."""
        return [machine for machine in self.workers if labels.POOL_NAME not in machine.metadata.labels]

    @cached_property
    def outside_pools(self) -> list[Machine]:
        return [machine for machine in self.machines if labels.POOL_NAME not in machine.metadata.labels]

    def owned_by(self, cluster: Cluster) -> list[Resource]:
        """What has to be deleted before the cluster: what it owns itself, the control plane last.

        Machines of a control plane provider are the provider's to delete.
        """
        groups: list[Sequence[Resource]] = [self.pools, self.deployments, self.sets, self.workers]
        if cluster.spec.control_plane_ref is None:
            groups.append(self.control_plane)
        return [obj for group in groups for obj in group if has_owner(cluster, obj)]

    def pending(self, cluster: Cluster) -> list[str]:
        """What still has to go before the control plane may, in words."""
        groups = {
            "MachineDeployments": self.deployments,
            "MachineSets": self.sets,
            "MachinePools": self.pools,
            "Worker Machines": self.workers,
        }
        if cluster.spec.control_plane_ref is None:
            groups = {"Control plane Machines": self.control_plane, **groups}
        return [f"{words}: {shortened(obj.name for obj in group)}" for words, group in groups.items() if group]


def is_standalone(obj: MachineSet | Machine, cluster: Cluster) -> bool:
    """Whether it belongs to the cluster and to nothing else. What was adopted since is its adopter's to count."""
    return has_owner(cluster, obj) and obj.controller_ref() is None


async def list_descendants(client: CachedClient, cluster: Cluster) -> Descendants:
    """Everything that carries the cluster's label, as cached."""
    selector = {labels.CLUSTER_NAME: cluster.name}
    return Descendants(
        await client.list(MachineDeployment, cluster.namespace, labels=selector),
        await client.list(MachineSet, cluster.namespace, labels=selector),
        await client.list(MachinePool, cluster.namespace, labels=selector),
        await client.list(Machine, cluster.namespace, labels=selector),
    )


async def machines_left(client: CachedClient, cluster: Cluster, *, control_plane: bool) -> bool:
    """Whether there are machines, asked of the API server: what follows cannot be undone.

    Without `control_plane`, machines of a control plane provider do not count: it deletes them itself.
    """
    selector = {labels.CLUSTER_NAME: cluster.name}
    found = await client.live.list(metadata_of(Machine), cluster.namespace, labels=selector)
    if control_plane or cluster.spec.control_plane_ref is None:
        return bool(found)
    return any(labels.CONTROL_PLANE not in machine.metadata.labels for machine in found)
