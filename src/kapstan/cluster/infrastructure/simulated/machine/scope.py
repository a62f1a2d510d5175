"""What one reconcile of a SimulatedMachine knows and works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kapstan.client.client import Client
from kapstan.cluster.api.core.cluster import Cluster
from kapstan.cluster.api.core.machine import Machine
from kapstan.cluster.api.infrastructure.simulatedmachine import SimulatedMachine
from kapstan.cluster.infrastructure.simulated.computers import Computers
from kapstan.cluster.skeleton.draft import Draft
from kapstan.machinery.gvk import ObjectKey

__all__ = ("Scope", "Waiting")


class Waiting(NamedTuple):
    """Why the computer is not ready, for the condition Ready."""

    reason: str
    message: str


@dataclass
class Scope:
    """Phases fill it, the status is computed from it."""

    draft: Draft[SimulatedMachine]
    machine: Machine | None  # None: it is gone, and so shall the computer be
    cluster: Cluster | None
    computers: Computers
    live: Client
    held: bool = False  # whether the API server keeps the object until we let it go
    waiting: Waiting | None = None

    @property
    def computer(self) -> SimulatedMachine:
        return self.draft.obj

    @property
    def cluster_key(self) -> ObjectKey | None:
        return self.cluster.key if self.cluster is not None else None

    @property
    def provisioned(self) -> bool:
        initialization = self.computer.status.initialization
        return initialization is not None and bool(initialization.provisioned)
