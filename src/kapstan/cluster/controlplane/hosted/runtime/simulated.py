"""SimulatedRuntime: each control plane is a logical cluster of the embedded API server, in the manager's own process.

No Kubernetes program, no process, ready at once: for demos, tests and large numbers. Everything else is the same: the
cluster has the authorities, the certificates and the endpoint that its object says, and in place of a controller
manager and a scheduler a simulation of them. Objects and certificates are kept in a folder and found there again;
without one they go with the manager.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.loopback import Loopback
from kapstan.apiserver.server import Endpoint as ServedEndpoint
from kapstan.apiserver.server import Server
from kapstan.apiserver.storage.history import HistoryLimits
from kapstan.apiserver.storage.memory import MemoryStorage
from kapstan.apiserver.storage.sqlite import Database
from kapstan.client import Config
from kapstan.client.loopback import reachable
from kapstan.cluster.api.controlplane.hosted import DatastoreType, Exposure
from kapstan.cluster.controlplane.hosted.certificates import FOLDER
from kapstan.cluster.controlplane.hosted.runtime.interface import (
    ComponentName,
    ComponentState,
    Condition,
    Datastore,
    Desired,
    Instance,
    Observation,
    Waker,
)
from kapstan.cluster.controlplane.hosted.runtime.places import Places
from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.pki import KeyPair, SigningKey, load_ca
from kapstan.simulation import Simulation

__all__ = ("SimulatedRuntime",)

_DATABASE = "simulated.db"
# Hundreds of them in one process: their watches resume after a moment, not after ten minutes.
_HISTORY = HistoryLimits(seconds=60.0)
_LOOPBACK = "127.0.0.1"
# What tokens and certificates are judged by.
_TRUST = tuple(f"{FOLDER}/{name}" for name in ("ca.crt", "ca.key", "sa.pub", "sa.key"))


@dataclass(frozen=True)
class _Served:
    """What a control plane that can be reached is made of."""

    version: str
    port: int
    # What it proves itself with, and whom it trusts.
    files: Mapping[str, bytes]

    def is_same_but_renewed(self, other: _Served) -> bool:
        """Whether clients of one need not notice that it becomes the other."""
        return self.port == other.port and all(self.files[name] == other.files[name] for name in _TRUST)


class SimulatedRuntime:
    """Runs control planes as logical clusters of this process."""

    def __init__(self, folder: Path | None = None, *, address: str = _LOOPBACK, ports: range | None = None) -> None:
        """`address` is what API servers listen on unless a control plane says otherwise, `ports` where to find some."""
        self._folder, self._address, self._range = folder, address, ports
        self._stack = AsyncExitStack()
        self._server = Server()
        self._database: Database | None = None
        self._memory: dict[str, MemoryStorage] = {}
        self._served: dict[str, _Served] = {}
        self._endpoints: dict[str, ServedEndpoint] = {}
        self._simulations: dict[str, asyncio.Task[None]] = {}
        self._loopbacks: dict[str, ExitStack] = {}
        self._failures: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._wakers: list[Waker] = []

    async def __aenter__(self) -> Self:
        folder = self._folder or Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kapstan-")))
        self._places = Places(folder, self._address, self._range)
        self._places.open()
        if self._folder is not None:
            self._database = await Database.open(self._places.folder / _DATABASE, limits=_HISTORY)
            self._stack.push_async_callback(self._database.close)
        await self._stack.enter_async_context(self._server)
        return self

    async def __aexit__(self, *error: object) -> None:
        for simulation in self._simulations.values():
            simulation.cancel()
        try:
            await asyncio.gather(*self._simulations.values(), return_exceptions=True)
        finally:
            for loopback in self._loopbacks.values():
                loopback.close()
            await self._stack.aclose()

    def subscribe(self, waker: Waker) -> None:
        self._wakers.append(waker)

    def keeps(self, instance: Instance) -> bool:
        return self._folder is None or self._places.of(instance).exists

    async def ensure_datastore(self, instance: Instance, type: DatastoreType) -> Datastore:
        """There is no etcd; whoever asks hears of none."""
        self._places.ensure(instance, type)
        return Datastore(servers=(), prefix="/")

    async def ensure_endpoint(self, instance: Instance, exposure: Exposure, published: Endpoint | None) -> Endpoint:
        return self._places.ensure_endpoint(instance, exposure, published)

    def layout(self, instance: Instance) -> None:
        """There are no components that would read files."""
        return

    async def files(self, instance: Instance) -> Mapping[str, bytes]:
        return self._places.of(instance).read_files()

    async def apply(self, instance: Instance, desired: Desired) -> None:
        folder, record = self._places.claimed(instance)
        folder.write_files(desired.files)
        wanted = _Served(desired.version, record.ports.apiserver, desired.files) if desired.replicas else None
        served = self._served.get(instance.id)
        if wanted == served:
            return
        if wanted and served and served.is_same_but_renewed(wanted):
            self._renew(instance, wanted)
        else:
            await self._withdraw(instance)
            if wanted is not None:
                await self._serve(instance, wanted, record.bind_address)
        self._wake(instance)

    def observe(self, instance: Instance) -> Observation:
        served = self._served.get(instance.id)
        state = ComponentState(
            condition=Condition.READY if served else Condition.STOPPED, version=self._versions.get(instance.id, "")
        )
        return Observation(components=dict.fromkeys(ComponentName, state), failure=self._failures.get(instance.id, ""))

    def connection(self, instance: Instance) -> Config:
        return self._places.connection(instance)

    async def delete(self, instance: Instance) -> None:
        folder = self._places.of(instance)
        if not folder.exists or (folder.record is not None and folder.record.key != instance.key):
            return
        await self._withdraw(instance)
        for known in (self._memory, self._failures, self._versions):
            known.pop(instance.id, None)
        if self._database is not None:
            await self._database.drop(instance.id)
        await self._places.remove(instance)

    async def _serve(self, instance: Instance, wanted: _Served, address: str) -> None:
        cluster = await new_cluster(instance.id, await self._storage(instance), tasks=self._server.tasks)
        cluster.credentials = _HostedCredentials(wanted.files)
        cluster.version = wanted.version
        try:
            self._endpoints[instance.id] = await self._server.add(cluster, address, wanted.port)
        except ConfigError as error:
            if self._places.exchange(instance, ComponentName.API_SERVER):
                return  # we are woken, and told what to serve at the new port
            self._failures[instance.id] = str(error)
            raise
        self._failures.pop(instance.id, None)
        self._memory[instance.id] = cluster.storage
        self._versions[instance.id] = wanted.version
        self._served[instance.id] = wanted
        # We and whoever else is in this process need no sockets to talk to it.
        self._loopbacks[instance.id] = ExitStack()
        self._loopbacks[instance.id].enter_context(reachable(cluster.address, Loopback(cluster)))
        simulation = Simulation(self.connection(instance), name=str(instance.key))
        self._simulations[instance.id] = self._server.tasks.create_task(simulation.run())

    def _renew(self, instance: Instance, wanted: _Served) -> None:
        """Other certificates, or another version: whoever is connected stays so."""
        endpoint = self._endpoints[instance.id]
        endpoint.cluster.version = wanted.version
        endpoint.renew(_HostedCredentials(wanted.files))
        self._versions[instance.id] = wanted.version
        self._served[instance.id] = wanted

    async def _withdraw(self, instance: Instance) -> None:
        """Serve it no longer; its objects stay."""
        simulation = self._simulations.pop(instance.id, None)
        if simulation is not None:
            simulation.cancel()
            await asyncio.wait([simulation])
            self._loopbacks.pop(instance.id).close()
        await self._server.remove(instance.id)
        for known in (self._endpoints, self._served):
            known.pop(instance.id, None)

    async def _storage(self, instance: Instance) -> MemoryStorage | None:
        """What it held before; None for a new one that is in memory, which then shares what all begin with."""
        if self._database is not None:
            return await self._database.storage(instance.id)
        return self._memory.get(instance.id)

    def _wake(self, instance: Instance) -> None:
        for waker in self._wakers:
            waker(instance.key)


class _HostedCredentials(Credentials):
    """The credentials that the control plane's own certificates are."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        def read(name: str) -> bytes:
            return files[f"{FOLDER}/{name}"]

        super().__init__(load_ca(read("ca.crt"), read("ca.key")), SigningKey(read("sa.pub"), read("sa.key")))
        self._pair = KeyPair(read("apiserver.crt"), read("apiserver.key"))

    def serving(self, hosts: Iterable[str]) -> KeyPair:
        """It was made for the right names already."""
        return self._pair
