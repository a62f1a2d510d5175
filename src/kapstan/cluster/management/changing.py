"""Changing a cluster: which objects hold its size and its version."""

from __future__ import annotations

from kapstan.client import Client, metadata_of
from kapstan.client.interface import Unstructured
from kapstan.cluster.api.core import Cluster, MachineDeployment
from kapstan.cluster.contract.version import contract_of, crd_name
from kapstan.cluster.skeleton import labels
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.gvk import GroupKind

__all__ = ("control_plane_of", "worker_deployment", "worker_deployments")


async def control_plane_of(client: Client, cluster: Cluster) -> Unstructured:
    """The control plane provider's object; ConfigError if there is none to change."""
    _refuse_topology(cluster)
    ref = cluster.spec.control_plane_ref
    if ref is None:
        raise ConfigError(f"cluster {cluster.key} has no control plane provider: nothing here can change it")
    kind = GroupKind(ref.api_group, ref.kind)
    definition = await client.get(metadata_of(CustomResourceDefinition), crd_name(kind))
    gvk = contract_of(kind, definition.metadata.labels).kind(kind)
    return await client.get(gvk, ref.name, cluster.namespace)


async def worker_deployments(client: Client, cluster: Cluster) -> list[MachineDeployment]:
    """The cluster's MachineDeployments, by name."""
    found = await client.list(MachineDeployment, cluster.namespace, labels={labels.CLUSTER_NAME: cluster.name})
    return sorted(found, key=lambda deployment: deployment.name)


async def worker_deployment(client: Client, cluster: Cluster, name: str = "") -> MachineDeployment:
    """One of them: the one of that name, or the only one; ConfigError names those that there are."""
    _refuse_topology(cluster)
    found = await worker_deployments(client, cluster)
    chosen = [one for one in found if name in ("", one.name)]
    if len(chosen) == 1:
        return chosen[0]
    known = ", ".join(one.name for one in found)
    if not found:
        raise ConfigError(f"cluster {cluster.key} has no MachineDeployment to scale")
    if name:
        raise ConfigError(f"cluster {cluster.key} has no MachineDeployment {name}; it has {known}")
    raise ConfigError(f"cluster {cluster.key} has several MachineDeployments ({known}): name one")


def _refuse_topology(cluster: Cluster) -> None:
    if cluster.spec.topology is not None:
        raise ConfigError(f"cluster {cluster.key} has a topology: change .spec.topology of the Cluster instead")
