"""Desired: what there shall be of a control plane, and telling its runtime."""

from __future__ import annotations

from kapstan.cluster.controlplane.hosted.certificates import desired_files
from kapstan.cluster.controlplane.hosted.components import desired_components
from kapstan.cluster.controlplane.hosted.runtime.interface import Datastore, Desired, Layout
from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.cluster.pki.leaves import Leaves

__all__ = ("apply_desired", "desired_state")


async def apply_desired(scope: Scope) -> None:
    """Tell the runtime what there shall be; it comes about in the background."""
    authorities, datastore, leaves = scope.authorities, scope.datastore, scope.leaves
    assert authorities and datastore and leaves, "components need all of them"  # noqa: PT018
    await scope.runtime.apply(
        scope.instance, desired_state(scope.settings, authorities, datastore, leaves, scope.layout)
    )
    if scope.settings.hibernated:
        await scope.tenants.forget(scope.instance)


def desired_state(
    settings: Settings, authorities: ClusterAuthorities, datastore: Datastore, leaves: Leaves, layout: Layout | None
) -> Desired:
    return Desired(
        version=settings.version,
        replicas=settings.replicas,
        components=desired_components(settings, layout, datastore, authorities) if layout else (),
        files=desired_files(settings, authorities, datastore, leaves, layout),
        strategy=settings.strategy,
    )
