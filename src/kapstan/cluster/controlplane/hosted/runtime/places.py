"""Places: where the control planes of one machine stand: their folders, their ports, their addresses.

Whatever runs them, they are reached by a port of the machine; this is where each has its own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import msgspec

from kapstan.client import Config
from kapstan.cluster.api.controlplane.hosted import DatastoreType, Exposure
from kapstan.cluster.controlplane.hosted.certificates import local_address
from kapstan.cluster.controlplane.hosted.runtime.folder import Folder, Record
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Instance, Ports
from kapstan.cluster.controlplane.hosted.runtime.ports import PortTable
from kapstan.cluster.controlplane.hosted.settings import Endpoint
from kapstan.components.files import private_folder
from kapstan.machinery.errors import KapstanError

__all__ = ("Places",)

_PORTS_OF: Mapping[ComponentName, tuple[str, ...]] = {
    ComponentName.ETCD: ("etcd_client", "etcd_peer"),
    ComponentName.API_SERVER: ("apiserver",),
    ComponentName.CONTROLLER_MANAGER: ("controller_manager",),
    ComponentName.SCHEDULER: ("scheduler",),
}


class Places:
    """The control planes below one folder."""

    def __init__(self, folder: Path, address: str, ports: range | None = None) -> None:
        self.folder = folder.resolve()
        self.ports = PortTable(ports)
        self._address = address
        self._known: dict[str, Folder] = {}

    def open(self) -> None:
        """Learn what is there already."""
        private_folder(self.folder)
        for folder in self.all():
            if (record := folder.record) is not None:
                self.ports.keep(_numbers(record), record.key)

    def all(self) -> list[Folder]:
        """The folders of all control planes; what has a dot in its name is none."""
        found = (path for path in sorted(self.folder.iterdir()) if path.is_dir() and "." not in path.name)
        return [self._known.get(path.name) or Folder(path) for path in found]

    def of(self, instance: Instance) -> Folder:
        """The folder of a control plane, which need not be there yet."""
        return self._known.setdefault(instance.id, Folder(self.folder / instance.id))

    def claimed(self, instance: Instance) -> tuple[Folder, Record]:
        """The folder of a control plane that has its place."""
        folder = self.of(instance)
        folder.claim(instance)
        assert folder.record is not None, "a control plane has its place before it is run"
        return folder, folder.record

    def ensure(self, instance: Instance, datastore: DatastoreType) -> Record:
        """Have a folder and ports; an error if the data belong to another control plane."""
        folder = self.of(instance)
        folder.claim(instance)
        record = folder.record or Record(
            owner=str(instance.key),
            datastore=datastore,
            bind_address=self._address,
            advertise_address=self._address,
            ports=Ports(*self.ports.choose(len(Ports.__dataclass_fields__), self._address, instance.key)),
            fixed=False,
        )
        folder.save(record)
        return record

    def ensure_endpoint(self, instance: Instance, exposure: Exposure, published: Endpoint | None) -> Endpoint:
        """Where the API server is reached; what is published or asked for is never given another port."""
        folder, record = self.claimed(instance)
        address = exposure.bind_address or self._address
        host = published.host if published else _reachable(exposure.host, address)
        port = published.port if published else exposure.port
        ports = record.ports if port is None else self._with_port(instance, record.ports, port)
        advertised = exposure.advertise_address or local_address(address)
        folder.save(
            msgspec.structs.replace(
                record,
                bind_address=address,
                advertise_address=advertised,
                ports=ports,
                fixed=port is not None,
            )
        )
        return Endpoint(host, ports.apiserver)

    def connection(self, instance: Instance) -> Config:
        """How an API server is reached from here, as an administrator that no role can lock out."""
        folder, record = self.claimed(instance)
        return Config(
            server=Endpoint(local_address(record.bind_address), record.ports.apiserver).url,
            source=f"HostedControlPlane {instance.key}",
            ca_file=str(folder.pki / "ca.crt"),
            cert_file=str(folder.pki / "super-admin.crt"),
            key_file=str(folder.pki / "super-admin.key"),
        )

    def exchange(self, instance: Instance, component: ComponentName) -> bool:
        """Give a component other ports; False if others know it by the ones that it has."""
        folder, record = self.claimed(instance)
        if component is ComponentName.API_SERVER and record.fixed:
            return False
        names = _PORTS_OF[component]
        chosen = dict(zip(names, self.ports.choose(len(names), record.bind_address, instance.key), strict=True))
        self.ports.release(tuple(getattr(record.ports, name) for name in names))
        folder.save(msgspec.structs.replace(record, ports=replace(record.ports, **chosen)))
        return True

    async def remove(self, instance: Instance) -> None:
        """Leave nothing of a control plane."""
        folder = self.of(instance)
        if folder.record is not None:
            self.ports.release(_numbers(folder.record))
        await folder.remove()
        self._known.pop(instance.id, None)

    def _with_port(self, instance: Instance, ports: Ports, port: int) -> Ports:
        if port != ports.apiserver:
            self.ports.claim(port, instance.key)
            self.ports.release((ports.apiserver,))
        return replace(ports, apiserver=port)


def _reachable(host: str | None, address: str) -> str:
    if host is None and ipaddress.ip_address(address).is_unspecified:
        raise KapstanError(
            f"listening on {address} says nothing about how to get there: set spec.exposure.host to the name or "
            "address that nodes reach this machine by"
        )
    return host or address


def _numbers(record: Record) -> tuple[int, ...]:
    return tuple(asdict(record.ports).values())
