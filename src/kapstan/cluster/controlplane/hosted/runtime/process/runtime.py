"""ProcessRuntime: control planes as processes of this machine, below one folder.

    async with ProcessRuntime(folder) as runtime:
        runtime.subscribe(waker)
        ...

Processes belong to the folder, not to the manager: when it goes they run on, and the next one that is told what there
shall be adopts them. `stop` ends them.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from kapstan.client import Config
from kapstan.cluster.api.controlplane.hosted import DatastoreType, Exposure
from kapstan.cluster.controlplane.hosted.certificates import local_address
from kapstan.cluster.controlplane.hosted.runtime.interface import (
    ComponentName,
    Datastore,
    Desired,
    Instance,
    Layout,
    Observation,
    Ports,
    Waker,
)
from kapstan.cluster.controlplane.hosted.runtime.process.folder import Folder, Record
from kapstan.cluster.controlplane.hosted.runtime.process.ports import PortTable
from kapstan.cluster.controlplane.hosted.runtime.process.programs import Programs
from kapstan.cluster.controlplane.hosted.runtime.process.sharedetcd import SharedEtcd
from kapstan.cluster.controlplane.hosted.runtime.process.supervisor import Supervisor
from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.components.files import private_folder
from kapstan.components.process import Backoff
from kapstan.machinery.errors import KapstanError

__all__ = ("ProcessRuntime",)

_LOOPBACK = "127.0.0.1"
# No control plane can have this name for its data: a prefix has no dot.
_SHARED = "shared.etcd"
_PORTS_OF: Mapping[ComponentName, tuple[str, ...]] = {
    ComponentName.ETCD: ("etcd_client", "etcd_peer"),
    ComponentName.API_SERVER: ("apiserver",),
    ComponentName.CONTROLLER_MANAGER: ("controller_manager",),
    ComponentName.SCHEDULER: ("scheduler",),
}


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
        self.folder = folder.resolve()
        self._address = address
        self._ports = PortTable(ports)
        self._programs = Programs()
        self._backoff = backoff
        self._tasks = asyncio.TaskGroup()
        self._supervisors: dict[str, Supervisor] = {}
        self._wakers: list[Waker] = []
        self._shared: SharedEtcd | None = None
        self._sharing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        private_folder(self.folder)
        for folder in self._folders():
            if (record := folder.record) is not None:
                self._ports.keep(tuple(asdict(record.ports).values()), record.key)
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything runs on. What goes on in the background is ended first, so that nothing is waited for."""
        for supervisor in self._supervisors.values():
            await supervisor.detach()
        if self._shared is not None:
            await self._shared.detach()
        await self._tasks.__aexit__(kind, error, trace)

    async def stop(self, grace: float = 10.0) -> None:
        """End every process, also those that an earlier manager left. All data stay."""
        async with asyncio.TaskGroup() as group:
            for folder in self._folders():
                if folder.record is not None:
                    instance = Instance(folder.record.key, folder.path.name)
                    group.create_task(self._supervisor(instance).stop(grace))
        if (self.folder / _SHARED).is_dir():
            await self._shared_etcd().stop(grace)

    def subscribe(self, waker: Waker) -> None:
        self._wakers.append(waker)

    async def ensure_datastore(self, instance: Instance, type: DatastoreType) -> Datastore:
        folder = self._claimed(instance)
        record = folder.record or self._new_record(instance, type)
        folder.save(record)
        if record.datastore == "SharedEtcd":
            async with self._sharing:
                return await self._shared_etcd().ensure(instance.id)
        return Datastore(servers=(f"https://{_LOOPBACK}:{record.ports.etcd_client}",), prefix="/registry")

    async def ensure_endpoint(self, instance: Instance, exposure: Exposure, published: Endpoint | None) -> Endpoint:
        folder = self._claimed(instance)
        record = folder.record
        assert record is not None, "the datastore comes before the endpoint"
        address = exposure.bind_address or self._address
        host = (published.host if published else None) or exposure.host or address
        if host == address and ipaddress.ip_address(address).is_unspecified:
            raise KapstanError(
                f"listening on {address} says nothing about how to get there: set spec.exposure.host to the name or "
                "address that nodes reach this machine by"
            )
        port = published.port if published else exposure.port
        if port is not None and port != record.ports.apiserver:
            self._ports.claim(port, instance.key)
            self._ports.release((record.ports.apiserver,))
            record = _replaced(record, ports=replace(record.ports, apiserver=port))
        folder.save(
            _replaced(
                record,
                bind_address=address,
                advertise_address=exposure.advertise_address or local_address(address),
                fixed=port is not None,
            )
        )
        return Endpoint(host, folder.record.ports.apiserver if folder.record else 0)

    def layout(self, instance: Instance) -> Layout:
        folder, record = self._recorded(instance)
        return Layout(
            certificates=folder.pki,
            kubeconfigs=folder.path,
            data=folder.data,
            bind_address=record.bind_address,
            advertise_address=record.advertise_address,
            ports=record.ports,
        )

    async def files(self, instance: Instance) -> Mapping[str, bytes]:
        return self._folder(instance).read_files()

    async def apply(self, instance: Instance, desired: Desired) -> None:
        self._recorded(instance)
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
        folder, record = self._recorded(instance)
        return Config(
            server=Endpoint(local_address(record.bind_address), record.ports.apiserver).url,
            source=f"HostedControlPlane {instance.key}",
            ca_file=str(folder.pki / "ca.crt"),
            cert_file=str(folder.pki / "super-admin.crt"),
            key_file=str(folder.pki / "super-admin.key"),
        )

    async def delete(self, instance: Instance) -> None:
        """Killed, not asked to end: nothing that they could still write would stay."""
        folder = self._folder(instance)
        record = folder.record
        if not folder.exists or (record is not None and record.key != instance.key):
            return
        await self._supervisor(instance).stop(grace=0)
        if record is not None:
            if record.datastore == "SharedEtcd":
                await self._leave_shared_etcd(instance)
            self._ports.release(tuple(asdict(record.ports).values()))
        await folder.remove()
        self._supervisors.pop(instance.id, None)

    async def _leave_shared_etcd(self, instance: Instance) -> None:
        """The last one takes it away as a whole."""
        async with self._sharing:
            others = [folder for folder in self._folders() if folder.path.name != instance.id]
            if any(folder.record and folder.record.datastore == "SharedEtcd" for folder in others):
                await self._shared_etcd().delete(instance.id)
            else:
                await self._shared_etcd().remove()
                self._shared = None

    def _shared_etcd(self) -> SharedEtcd:
        if self._shared is None:
            self._shared = SharedEtcd(
                self.folder / _SHARED,
                self._programs,
                self._ports,
                self._tasks,
                self._wake_sharers,
                backoff=self._backoff,
            )
        return self._shared

    def _supervisor(self, instance: Instance) -> Supervisor:
        if instance.id not in self._supervisors:
            self._supervisors[instance.id] = Supervisor(
                instance,
                self._folder(instance),
                self._programs,
                self._tasks,
                lambda: self._wake(instance),
                lambda component: self._exchange_ports(instance, component),
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

    def _exchange_ports(self, instance: Instance, component: ComponentName) -> bool:
        """Give a component other ports; False if others know it by the ones that it has."""
        folder, record = self._recorded(instance)
        if component is ComponentName.API_SERVER and record.fixed:
            return False
        names = _PORTS_OF[component]
        chosen = dict(zip(names, self._ports.choose(len(names), record.bind_address, instance.key), strict=True))
        self._ports.release(tuple(getattr(record.ports, name) for name in names))
        folder.save(_replaced(record, ports=replace(record.ports, **chosen)))
        return True

    def _new_record(self, instance: Instance, type: DatastoreType) -> Record:
        return Record(
            owner=str(instance.key),
            datastore=type,
            bind_address=self._address,
            advertise_address=self._address,
            ports=Ports(*self._ports.choose(5, self._address, instance.key)),
            fixed=False,
        )

    def _claimed(self, instance: Instance) -> Folder:
        folder = self._folder(instance)
        folder.claim(instance)
        return folder

    def _recorded(self, instance: Instance) -> tuple[Folder, Record]:
        folder = self._claimed(instance)
        assert folder.record is not None, "a control plane has its place before it is run"
        return folder, folder.record

    def _folder(self, instance: Instance) -> Folder:
        known = self._supervisors.get(instance.id)
        return known.folder if known else Folder(self.folder / instance.id)

    def _folders(self) -> list[Folder]:
        """Those of all control planes."""
        return [Folder(path) for path in sorted(self.folder.iterdir()) if path.is_dir() and path.name != _SHARED]


def _replaced(record: Record, **changes: object) -> Record:
    return msgspec.structs.replace(record, **changes)
