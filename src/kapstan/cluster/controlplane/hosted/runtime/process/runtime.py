"""ProcessRuntime: control planes as processes of this machine, below one folder.

    async with ProcessRuntime(folder) as runtime:
        runtime.subscribe(waker)
        ...

Processes belong to the folder, not to the manager: when it goes they run on, and the next one that is told what there
shall be adopts them. `stop` ends them.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from kapstan.client import Config
from kapstan.cluster.api.controlplane.hosted import DatastoreType, Exposure
from kapstan.cluster.controlplane.hosted.runtime.interface import (
    ComponentName,
    Datastore,
    Desired,
    Instance,
    Layout,
    Observation,
    Waker,
)
from kapstan.cluster.controlplane.hosted.runtime.places import Places
from kapstan.cluster.controlplane.hosted.runtime.process.programs import Programs
from kapstan.cluster.controlplane.hosted.runtime.process.sharedetcd import SharedEtcd
from kapstan.cluster.controlplane.hosted.runtime.process.supervisor import Supervisor
from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.components.process import Backoff
from kapstan.components.strays import find_strays

__all__ = ("ProcessRuntime",)

_LOOPBACK = "127.0.0.1"
_SHARED = "shared.etcd"


class ProcessRuntime:
    """Runs control planes on this machine."""

    def __init__(
        self,
        folder: Path,
        *,
        address: str = _LOOPBACK,
        ports: range | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """`address` is what API servers listen on unless a control plane says otherwise, `ports` where to find some."""
        self._places = Places(folder, address, ports)
        self._programs = Programs()
        self._backoff = backoff
        self._tasks = asyncio.TaskGroup()
        self._supervisors: dict[str, Supervisor] = {}
        self._wakers: list[Waker] = []
        self._shared: SharedEtcd | None = None
        self._sharing = asyncio.Lock()

    @property
    def folder(self) -> Path:
        return self._places.folder

    async def __aenter__(self) -> Self:
        self._places.open()
        for stray in find_strays(self.folder):
            stray.send(signal.SIGKILL)
            await stray.exited()
            stray.close()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Everything runs on. What goes on in the background is ended first, so that nothing is waited for."""
        for supervisor in self._supervisors.values():
            await supervisor.detach()
        if self._shared is not None:
            await self._shared.detach()
        await self._tasks.__aexit__(None, None, None)  # what the block raised comes out as it is

    async def stop(self, grace: float = 10.0) -> None:
        """End every process, also those that an earlier manager left. All data stay."""
        async with asyncio.TaskGroup() as group:
            for folder in self._places.all():
                if folder.record is not None:
                    instance = Instance(folder.record.key, folder.path.name)
                    group.create_task(self._supervisor(instance).stop(grace))
        if (self.folder / _SHARED).is_dir():
            await self._shared_etcd().stop(grace)

    def subscribe(self, waker: Waker) -> None:
        self._wakers.append(waker)

    def keeps(self, instance: Instance) -> bool:
        return self._places.of(instance).exists

    async def ensure_datastore(self, instance: Instance, type: DatastoreType) -> Datastore:
        record = self._places.ensure(instance, type)
        if record.datastore == "SharedEtcd":
            async with self._sharing:
                return await self._shared_etcd().ensure(instance.id)
        return Datastore(servers=(f"https://{_LOOPBACK}:{record.ports.etcd_client}",), prefix="/registry")

    async def ensure_endpoint(self, instance: Instance, exposure: Exposure, published: Endpoint | None) -> Endpoint:
        return self._places.ensure_endpoint(instance, exposure, published)

    def layout(self, instance: Instance) -> Layout:
        folder, record = self._places.claimed(instance)
        return Layout(
            certificates=folder.pki,
            kubeconfigs=folder.path,
            data=folder.data,
            bind_address=record.bind_address,
            advertise_address=record.advertise_address,
            ports=record.ports,
        )

    async def files(self, instance: Instance) -> Mapping[str, bytes]:
        return self._places.of(instance).read_files()

    async def apply(self, instance: Instance, desired: Desired) -> None:
        self._places.claimed(instance)
        await self._supervisor(instance).apply(desired)

    def observe(self, instance: Instance) -> Observation:
        supervisor = self._supervisors.get(instance.id)
        if supervisor is None:
            return Observation()
        seen, record = supervisor.observe(), supervisor.folder.record
        if record is None or record.datastore != "SharedEtcd" or self._shared is None:
            return seen
        return replace(seen, components={**seen.components, ComponentName.ETCD: self._shared.state})

    def connection(self, instance: Instance) -> Config:
        return self._places.connection(instance)

    async def delete(self, instance: Instance) -> None:
        """Killed, not asked to end: nothing that they could still write would stay."""
        folder = self._places.of(instance)
        record = folder.record
        if not folder.exists or (record is not None and record.key != instance.key):
            return
        await self._supervisor(instance).stop(grace=0)
        if record is not None and record.datastore == "SharedEtcd":
            await self._leave_shared_etcd(instance)
        await self._places.remove(instance)
        self._supervisors.pop(instance.id, None)

    async def _leave_shared_etcd(self, instance: Instance) -> None:
        """The last one takes it away as a whole."""
        async with self._sharing:
            others = [folder.record for folder in self._places.all() if folder.path.name != instance.id]
            if any(record and record.datastore == "SharedEtcd" for record in others):
                await self._shared_etcd().delete(instance.id)
            else:
                await self._shared_etcd().remove()
                self._shared = None

    def _shared_etcd(self) -> SharedEtcd:
        if self._shared is None:
            self._shared = SharedEtcd(
                self.folder / _SHARED,
                self._programs,
                self._places.ports,
                self._tasks,
                self._wake_sharers,
                backoff=self._backoff,
            )
        return self._shared

    def _supervisor(self, instance: Instance) -> Supervisor:
        if instance.id not in self._supervisors:
            self._supervisors[instance.id] = Supervisor(
                instance,
                self._places.of(instance),
                self._programs,
                self._tasks,
                lambda: self._wake(instance),
                lambda component: self._places.exchange(instance, component),
                backoff=self._backoff,
            )
        return self._supervisors[instance.id]

    def _wake(self, instance: Instance) -> None:
        for waker in self._wakers:
            waker(instance.key)

    def _wake_sharers(self) -> None:
        for supervisor in self._supervisors.values():
            record = supervisor.folder.record
            if record is not None and record.datastore == "SharedEtcd":
                self._wake(supervisor.instance)
