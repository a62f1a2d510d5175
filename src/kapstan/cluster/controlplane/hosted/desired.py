"""Desired: what there shall be of a control plane, as its runtime is told. Pure."""

from __future__ import annotations

from kapstan.cluster.controlplane.hosted.certificates import desired_files
from kapstan.cluster.controlplane.hosted.components import desired_components
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore, Desired, Layout
from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.cluster.pki.leaves import Leaves

__all__ = ("desired_state",)


def desired_state(
    settings: Settings, authorities: ClusterAuthorities, datastore: Datastore, leaves: Leaves, layout: Layout | None
) -> Desired:
    return Desired(
        version=settings.version,
        replicas=settings.replicas,
        components=desired_components(settings, layout, datastore) if layout else (),
        files=desired_files(settings, authorities, datastore, leaves, layout),
        strategy=settings.strategy,
    )
