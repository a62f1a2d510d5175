"""The providers that the suite is run over. A new one is added here, and passes the suite as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.api.infrastructure import (
    SimulatedCluster,
    SimulatedClusterTemplate,
    SimulatedMachine,
    SimulatedMachineTemplate,
)
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.infrastructure.simulated.adding import add_simulated_infrastructure
from kapstan.machinery.model import Resource
from kapstan.runtime.manager import Manager

# Adds a provider's controllers to a manager; what they need besides is there inside the block. The folder outlives it.
Serve: TypeAlias = Callable[[Manager, Path], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Sample:
    """A kind of a provider's, with the smallest spec that it can do something with."""

    kind: type[Resource]
    template: type[Resource]
    spec: dict[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        return self.kind, self.template


@dataclass(frozen=True)
class Provider:
    """A provider: what it offers, and how it is started."""

    name: str
    serve: Serve
    infra_cluster: Sample | None = None
    infra_machine: Sample | None = None
    control_plane: Sample | None = None

    @property
    def samples(self) -> list[Sample]:
        return [sample for sample in (self.infra_cluster, self.infra_machine, self.control_plane) if sample is not None]

    def __str__(self) -> str:
        return self.name


@asynccontextmanager
async def _simulated(manager: Manager, folder: Path) -> AsyncIterator[None]:
    add_simulated_infrastructure(manager)
    yield


@asynccontextmanager
async def _hosted(manager: Manager, folder: Path) -> AsyncIterator[None]:
    async with SimulatedRuntime(folder) as runtime:
        add_hosted_control_planes(manager, {"Simulated": runtime}, webhooks=False)
        yield


PROVIDERS = (
    Provider(
        "simulated",
        _simulated,
        infra_cluster=Sample(SimulatedCluster, SimulatedClusterTemplate),
        infra_machine=Sample(SimulatedMachine, SimulatedMachineTemplate),
    ),
    Provider(
        "hosted",
        _hosted,
        control_plane=Sample(
            HostedControlPlane,
            HostedControlPlaneTemplate,
            {"version": "v1.36.3", "replicas": 1, "runtime": {"type": "Simulated"}},
        ),
    ),
)
INFRA_CLUSTERS = [provider for provider in PROVIDERS if provider.infra_cluster is not None]
INFRA_MACHINES = [provider for provider in PROVIDERS if provider.infra_machine is not None]
CONTROL_PLANES = [provider for provider in PROVIDERS if provider.control_plane is not None]
