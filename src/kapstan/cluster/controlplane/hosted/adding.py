"""Adding hosted control planes to a manager.

async with ProcessRuntime(folder) as processes:
    add_hosted_control_planes(manager, {"Process": processes})
    await manager.start()
"""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.controller import Clock, HostedControlPlaneReconciler, utc_now
from kapstan.cluster.controlplane.hosted.runtime.interface import Runtime
from kapstan.cluster.controlplane.hosted.webhook import (
    validate_hosted_control_plane,
    validate_hosted_control_plane_template,
)
from kapstan.cluster.skeleton.adding import add_controller
from kapstan.runtime.manager import Manager

__all__ = ("add_hosted_control_planes",)


def add_hosted_control_planes(
    manager: Manager, runtimes: Mapping[RuntimeType, Runtime], *, webhooks: bool = True, clock: Clock = utc_now
) -> None:
    """Have a manager run hosted control planes, and serve their webhooks unless told otherwise.

    The runtimes are entered already, and left after the manager ends. Certificates are issued and renewed by `clock`.
    """
    add_controller(manager, HostedControlPlaneReconciler(runtimes, manager.metrics, clock=clock))
    if webhooks:
        manager.add(validate_hosted_control_plane, validate_hosted_control_plane_template)
