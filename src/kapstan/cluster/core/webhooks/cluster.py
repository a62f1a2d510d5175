"""Cluster: what it refers to cannot be taken away, and a version goes up, one minor at a time.

Topologies (clusters made from a ClusterClass) are made by controllers that are not always there, as in Cluster API,
where they are switched off by default.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import NetworkRanges
from kapstan.cluster.core.versions import Version, compare, parse
from kapstan.cluster.core.webhooks.machine import version_errors
from kapstan.cluster.skeleton import labels
from kapstan.cluster.skeleton.refusal import refuse
from kapstan.machinery.names import label_value_errors
from kapstan.machinery.validation import FieldError, Path
from kapstan.runtime.webhook.declaration import defaulter, validator

__all__ = ("cluster_errors", "default_cluster", "upgrade_errors", "validate_cluster")

_SPEC = Path("spec")
_TOPOLOGY = _SPEC.child("topology")


@defaulter(Cluster, name="default.cluster.cluster.x-k8s.io")
def default_cluster(cluster: Cluster) -> None:
    """Tolerate a version without its `v`."""
    topology = cluster.spec.topology
    if topology is not None and not topology.version.startswith("v"):
        topology.version = f"v{topology.version}"


@validator(Cluster, on=("create", "update", "delete"), name="validation.cluster.cluster.x-k8s.io")
def validate_cluster(new: Cluster | None, old: Cluster | None) -> list[str]:
    """Warnings; Invalid if it is refused. A cluster may always be deleted."""
    if new is None:
        return []
    refuse(new, list(cluster_errors(new, old)))
    return []


def cluster_errors(new: Cluster, old: Cluster | None, *, topologies: bool = False) -> Iterator[FieldError]:
    """What is wrong with a cluster. `topologies` says whether there is somebody who makes clusters from classes."""
    spec = new.spec
    for error in label_value_errors(new.name):
        yield FieldError.invalid("metadata.name", new.name, f"must be a valid label value {error}")
    if spec.control_plane_ref is None and spec.infrastructure_ref is None and spec.topology is None:
        detail = "one of spec.controlPlaneRef, spec.infrastructureRef or spec.topology must be set"
        yield FieldError.forbidden(_SPEC, detail)
    if old is not None:
        yield from _removals(new, old)
    if spec.cluster_network is not None:
        network = _SPEC.child("clusterNetwork")
        yield from _ranges(spec.cluster_network.pods, network.child("pods", "cidrBlocks"))
        yield from _ranges(spec.cluster_network.services, network.child("services", "cidrBlocks"))
    if spec.topology is None:
        return
    if not topologies:
        yield FieldError.forbidden(_TOPOLOGY, "there is no ClusterClass controller; set the references instead")
        return
    yield from version_errors(spec.topology.version, _TOPOLOGY.child("version"))
    if old is not None and old.spec.topology is not None:
        yield from upgrade_errors(new, old.spec.topology.version, spec.topology.version)


def _removals(new: Cluster, old: Cluster) -> Iterator[FieldError]:
    """What has once been set stays."""
    if new.spec.infrastructure_ref is None and old.spec.infrastructure_ref is not None:
        yield FieldError.forbidden(_SPEC.child("infrastructureRef"), "cannot be removed")
    if new.spec.control_plane_ref is None and old.spec.control_plane_ref is not None:
        yield FieldError.forbidden(_SPEC.child("controlPlaneRef"), "cannot be removed")
    if new.spec.topology is None and old.spec.topology is not None:
        yield FieldError.forbidden(_TOPOLOGY, "cannot be removed from an existing Cluster")


def _ranges(ranges: NetworkRanges | None, path: Path) -> Iterator[FieldError]:
    for index, block in enumerate(ranges.cidr_blocks if ranges is not None else ()):
        if not _is_range(block):
            yield FieldError.invalid(path.index(index), block, f"invalid CIDR address: {block}")


def _is_range(block: str) -> bool:
    """Python takes a mask for the length of a prefix, too; Kubernetes does not."""
    try:
        return block.rpartition("/")[2].isdecimal() and bool(ipaddress.ip_network(block, strict=False))
    except ValueError:
        return False


def upgrade_errors(cluster: Cluster, before: str, after: str) -> Iterator[FieldError]:
    """What is wrong with going from one version to another: down, or over a minor version."""
    old, new = parse(before), parse(after)
    if old is None or new is None or str(old) == str(new):
        return
    if labels.UNSAFE_VERSION_UPDATE in cluster.metadata.annotations:
        return
    path = _TOPOLOGY.child("version")
    if compare(new, old, pre_releases=False) < 0:
        yield FieldError.invalid(path, after, f'version cannot be decreased from "{old}" to "{new}"')
    ceiling = Version(old.major, old.minor + 2, 0)
    if compare(new, ceiling, pre_releases=False) >= 0:
        yield FieldError.invalid(path, after, f'version cannot be increased from "{old}" to "{new}"')
