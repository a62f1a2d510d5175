"""Runtime: what runs control planes, whichever way; the controller knows no other.

A runtime is told what there shall be (`apply`), says what there is (`observe`), and tells whoever listens when that
has changed: nothing is polled. Every call may be repeated at any time, and by another manager than the one before.
What goes wrong in the background is part of the observation; what is raised is a `KapstanError` for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Protocol

from kapstan.client import Config
from kapstan.cluster.api.controlplane.hosted import DatastoreType, Exposure, RolloutStrategyType
from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.pki import CertificateAuthority

__all__ = (
    "ABSENT",
    "COMPONENTS",
    "ComponentName",
    "ComponentSpec",
    "ComponentState",
    "Condition",
    "Datastore",
    "Desired",
    "Instance",
    "Layout",
    "Observation",
    "Ports",
    "Refusal",
    "Runtime",
    "Waker",
)

# Called with the key of a control plane of which something has changed.
Waker = Callable[[ObjectKey], None]


class ComponentName(StrEnum):
    """The programs of a control plane, in the order in which they need one another."""

    ETCD = "etcd"
    API_SERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"


COMPONENTS = tuple(ComponentName)


@dataclass(frozen=True)
class Instance:
    """One control plane: the object that wants it, and the name of its data."""

    key: ObjectKey
    id: str


@dataclass(frozen=True)
class Ports:
    """Where each component listens."""

    etcd_client: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int


@dataclass(frozen=True, kw_only=True)
class Datastore:
    """Where the objects of a control plane are kept."""

    servers: tuple[str, ...]
    # What every key begins with, between slashes.
    prefix: str
    # Of the etcd, where the control plane has none of its own.
    authority: CertificateAuthority | None = None


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where components find their files and listen; what their flags are made from."""

    certificates: PurePath
    kubeconfigs: PurePath
    data: PurePath
    bind_address: str
    advertise_address: str
    ports: Ports


@dataclass(frozen=True, kw_only=True)
class ComponentSpec:
    """What to run."""

    name: ComponentName
    version: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Desired:
    """What there shall be of a control plane."""

    version: str
    # With 0, nothing runs, and everything is kept.
    replicas: int
    components: tuple[ComponentSpec, ...] = ()
    # Content by name, below the layout's folder: certificates, keys, kubeconfigs.
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    strategy: RolloutStrategyType = "BlueGreen"


class Condition(StrEnum):
    """How a component is."""

    STOPPED = "Stopped"
    STARTING = "Starting"
    # It answers its administrator, but still has work to do before it is ready.
    ANSWERING = "Answering"
    READY = "Ready"
    # It runs, but does not answer as it should.
    UNHEALTHY = "Unhealthy"
    # It ended, or cannot be started; it is tried again.
    FAILED = "Failed"


@dataclass(frozen=True)
class ComponentState:
    """What was last seen of a component."""

    condition: Condition = Condition.STOPPED
    # Why it is not ready, for a person.
    message: str = ""
    # Of the program that runs, or ran last.
    version: str = ""
    restarts: int = 0
    # A word for the cause, where there is one for it: AddressInUse, NoSpace, UnknownFlag.
    reason: str = ""

    @property
    def ready(self) -> bool:
        return self.condition is Condition.READY


ABSENT = ComponentState()


@dataclass(frozen=True)
class Refusal:
    """A change that was tried and taken back."""

    version: str
    message: str


@dataclass(frozen=True)
class Observation:
    """What was last seen of a control plane."""

    components: Mapping[ComponentName, ComponentState] = field(default_factory=dict)
    # A component is being replaced by a changed one.
    rolling_out: bool = False
    # The change that is asked for was tried, and taken back.
    refused: Refusal | None = None
    # What stands in the way of everything, for a person.
    failure: str = ""

    def component(self, name: ComponentName) -> ComponentState:
        return self.components.get(name, ABSENT)

    @property
    def answering(self) -> bool:
        """The API server answers its administrator: objects can be read and written."""
        return self.component(ComponentName.API_SERVER).condition in (Condition.ANSWERING, Condition.READY)

    @property
    def ready(self) -> bool:
        """The API server is ready for everybody."""
        return self.component(ComponentName.API_SERVER).ready


class Runtime(Protocol):
    """Runs control planes."""

    def subscribe(self, waker: Waker) -> None:
        """Have `waker` called whenever an observation has changed."""

    def keeps(self, instance: Instance) -> bool:
        """Whether the data of a control plane that ran before are here; also if they were never to be kept."""

    async def ensure_datastore(self, instance: Instance, type: DatastoreType) -> Datastore:
        """Have a place for the objects of a control plane."""

    async def ensure_endpoint(self, instance: Instance, exposure: Exposure, published: Endpoint | None) -> Endpoint:
        """Have a place where the API server is reached; what is published already is never given another."""

    def layout(self, instance: Instance) -> Layout | None:
        """Where components find their files; None for a runtime that has no components."""

    async def files(self, instance: Instance) -> Mapping[str, bytes]:
        """The files that were last applied."""

    async def apply(self, instance: Instance, desired: Desired) -> None:
        """Say what there shall be. It comes about in the background, in the order that components need."""

    def observe(self, instance: Instance) -> Observation:
        """What was last seen."""

    def connection(self, instance: Instance) -> Config:
        """How the manager reaches the API server, as an administrator that no role can lock out."""

    async def delete(self, instance: Instance) -> None:
        """Leave nothing behind: no process, no file, no key. Done when it returns."""
