"""All controllers of the product, added to a manager in one go."""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.interface import Runtime
from kapstan.cluster.core.controllers import add_controllers
from kapstan.cluster.infrastructure.simulated.adding import add_simulated_infrastructure
from kapstan.runtime.manager import Manager

__all__ = ("add_all_controllers",)


def add_all_controllers(manager: Manager, runtimes: Mapping[RuntimeType, Runtime]) -> None:
    """Have a manager run core, hosted control planes in these runtimes, and simulated infrastructure."""
    clusters = add_controllers(manager)
    add_hosted_control_planes(manager, runtimes, webhooks=False)
    add_simulated_infrastructure(manager, clusters)
