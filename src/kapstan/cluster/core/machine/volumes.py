"""Volumes: before a computer goes, what is attached to it must be detached, or it may go with it.

Kubernetes knows of attached volumes in two places: the node's status, and VolumeAttachments. Both are waited
for, except for volumes of pods that stay on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from kapstan.cluster.core.deletion import Stage
from kapstan.cluster.core.machine.drain import is_unreachable, judged_pods
from kapstan.cluster.core.machine.podfilter import Judged
from kapstan.cluster.core.machine.scope import Scope
from kapstan.cluster.remote.connection import Connection
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.cluster.skeleton.wording import rfc3339, shortened
from kapstan.k8s.core_v1 import Node, PersistentVolume
from kapstan.k8s.storage_v1 import VolumeAttachment
from kapstan.machinery.gvk import ObjectKey

__all__ = ("Attached", "detach_volumes", "still_attached")


class Attached(NamedTuple):
    """What is still attached to a node."""

    claims: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()  # that no claim is known of
    unknown_of_node: tuple[str, ...] = ()
    unknown_of_attachments: tuple[str, ...] = ()

    def message(self, since: datetime) -> str:
        parts = {
            "PersistentVolumeClaims": self.claims,
            "PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim": self.volumes,
            "Node with .status.volumesAttached entries not matching a PersistentVolume": self.unknown_of_node,
            "VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume": (
                self.unknown_of_attachments
            ),
        }
        lines = [f"Waiting for Node volumes to be detached (started at {rfc3339(since)})"]
        lines += [f"* {words}: {shortened(names)}" for words, names in parts.items() if names]
        return "\n".join(lines)


async def detach_volumes(scope: Scope, connection: Connection, since: datetime) -> Stage | None:
    """Look whether volumes are still attached; None if not."""
    machine = scope.machine
    assert machine.status.node_ref is not None
    node = await connection.client.find(Node, machine.status.node_ref.name)
    if node is None or is_unreachable(node):
        return None  # nobody is there to detach anything
    attachments = await scope.departures.attachments(node.name, connection, machine.key)
    if not attachments and not node.status.volumes_attached:
        return None
    pods = await judged_pods(scope, connection, node)
    volumes = [volume async for volume in connection.live.iterate(PersistentVolume)]
    left = still_attached(node, attachments, volumes, _claims_of(pods))
    return Stage(Reason.WAITING_FOR_VOLUME_DETACH, left.message(since)) if any(left) else None


def still_attached(
    node: Node,
    attachments: Iterable[VolumeAttachment],
    volumes: Iterable[PersistentVolume],
    ignored: Collection[ObjectKey],
) -> Attached:
    """What is attached, told by claim as far as it is known. Claims in `ignored` belong to pods that stay."""
    of_node = {attached.name for attached in node.status.volumes_attached}
    of_attachments = {one.spec.source.persistent_volume_name or one.name for one in attachments}
    claims: set[ObjectKey] = set()
    without_claim: set[str] = set()
    found: set[str] = set()
    for volume in volumes:
        names = {_name_on_node(volume), volume.name} & (of_node | of_attachments)
        if not names:
            continue
        found |= names
        ref = volume.spec.claim_ref
        if ref is None or ref.kind != "PersistentVolumeClaim":
            without_claim.add(volume.name)
        else:
            claims.add(ObjectKey(ref.namespace or "", ref.name or ""))
    return Attached(
        tuple(sorted(str(claim) for claim in claims - set(ignored))),
        tuple(sorted(without_claim)),
        tuple(sorted(of_node - found)),
        tuple(sorted(of_attachments - found)),
    )


def _name_on_node(volume: PersistentVolume) -> str:
    csi = volume.spec.csi
    return f"kubernetes.io/csi/{csi.driver}^{csi.volume_handle}" if csi is not None else ""


def _claims_of(pods: Iterable[Judged]) -> set[ObjectKey]:
    """The claims of pods that stay."""
    return {
        ObjectKey(one.pod.namespace, volume.persistent_volume_claim.claim_name)
        for one in pods
        if one.behavior == "Skip"
        for volume in one.pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
