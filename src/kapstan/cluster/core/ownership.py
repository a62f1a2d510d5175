"""Owners and cluster labels of providers' objects, exactly as the contract says.

What somebody else controls is not ours, whoever refers to it: it is neither believed nor deleted.

The infrastructure and the control plane of a cluster are owned by the Cluster, which is their controller only if it
has a topology: without one, somebody else may manage them. What a machine refers to is controlled by the Machine, in
place of the MachineSet or control plane that made it before there was a Machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kapstan.client.client import Client
from kapstan.client.interface import PartialObjectMetadata
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.api.core.group import GROUP
from kapstan.cluster.api.core.machine import Machine
from kapstan.cluster.contract.objects import ProviderObject
from kapstan.cluster.core.external import Referenced
from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupKind, GroupVersion
from kapstan.machinery.meta import OwnerReference
from kapstan.machinery.owners import AlreadyOwned, set_controller, set_owner

__all__ = ("NotOurs", "adopt", "adopted_by_cluster", "adopted_by_machine")


V = TypeVar("V", bound=ProviderObject)


class NotOurs(KapstanError):
    """Somebody else controls the object."""


async def adopt(
    client: Client, referenced: Referenced[V], wanted: Callable[[dict[str, Any]], PartialObjectMetadata]
) -> None:
    """Have a provider's object owned as it shall be; NotOurs if it cannot be."""
    assert referenced.found is not None
    try:
        adopted = wanted(referenced.found.document)
    except NotOurs as error:
        referenced.disown(error)
        raise
    await _own(client, referenced.found, adopted)


async def _own(client: Client, view: ProviderObject, adopted: PartialObjectMetadata) -> None:
    """Write the owners and the label that a provider's object shall have, if it does not have them."""
    metadata = view.document["metadata"]
    wanted = {"ownerReferences": to_builtins(adopted.metadata.owner_references), "labels": adopted.metadata.labels}
    if all(metadata.get(name, type(value)()) == value for name, value in wanted.items()):
        return
    async with client.edit(view.document, optimistic_lock=True) as document:
        document["metadata"].update(wanted)
    view.document = document


def adopted_by_cluster(document: dict[str, Any], cluster: Cluster) -> PartialObjectMetadata:
    """The metadata of a cluster's infrastructure or control plane as it shall be."""
    obj = _metadata(document, cluster.name)
    if cluster.spec.topology is None:
        set_owner(cluster, obj)
    else:
        _control(cluster, obj)
    return obj


def adopted_by_machine(document: dict[str, Any], machine: Machine, cluster: Cluster) -> PartialObjectMetadata:
    """The metadata of a machine's infrastructure or bootstrap configuration as it shall be."""
    obj = _metadata(document, machine.spec.cluster_name)
    makers = _makers(machine, cluster)
    obj.metadata.owner_references = [ref for ref in obj.metadata.owner_references if _kind_of(ref) not in makers]
    _control(machine, obj)
    return obj


def _metadata(document: dict[str, Any], cluster_name: str) -> PartialObjectMetadata:
    kept = {name: document[name] for name in ("apiVersion", "kind", "metadata")}
    obj = convert(kept, PartialObjectMetadata)
    obj.metadata.labels = {**obj.metadata.labels, labels.CLUSTER_NAME: cluster_name}
    return obj


def _control(owner: Cluster | Machine, obj: PartialObjectMetadata) -> None:
    try:
        set_controller(owner, obj)
    except AlreadyOwned as error:
        raise NotOurs(f"{owner} refers to {obj}, but cannot own it: {error}") from error


def _makers(machine: Machine, cluster: Cluster) -> set[GroupKind]:
    """Who may have made what a machine refers to."""
    made_by = {GroupKind(GROUP, "MachineSet")}
    control_plane = cluster.spec.control_plane_ref
    if labels.CONTROL_PLANE in machine.metadata.labels and control_plane is not None:
        made_by.add(GroupKind(control_plane.api_group, control_plane.kind))
    return made_by


def _kind_of(ref: OwnerReference) -> GroupKind:
    return GroupKind(GroupVersion.parse(ref.api_version).group, ref.kind)
