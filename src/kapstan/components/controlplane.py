"""ControlPlane: a real Kubernetes control plane as processes in one folder, on this machine's loopback address.

    async with ControlPlane(folder) as plane:
        plane.kubeconfig()              # for a client in this process
        plane.kubeconfig_file           # for kubectl

The folder is the whole state: certificates, ports, data, logs, pid files. Whoever opens the same folder again finds the
same cluster, and adopts the processes that still run. Started in order (etcd, API server, then the rest, which would
only fail without it), stopped in the opposite one: an API server whose etcd is gone does not end when it is asked to.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kapstan.client.kubeconfig import Cluster, Kubeconfig, User
from kapstan.components import assets
from kapstan.components.apiserver import APIServer, apiserver_arguments
from kapstan.components.certificates import Certificates, Names, load_or_issue
from kapstan.components.controllermanager import ControllerManager, controller_manager_arguments
from kapstan.components.etcd import Etcd, etcd_arguments
from kapstan.components.files import private_folder, write_private
from kapstan.components.guard import Guard
from kapstan.components.ports import free_ports
from kapstan.components.probe import HTTPSProbe
from kapstan.components.process import Command, Process, ProcessFailed
from kapstan.components.scheduler import Scheduler, scheduler_arguments
from kapstan.machinery.pki import KeyPair

__all__ = ("ControlPlane", "Options", "Ports", "control_plane_arguments")

_ADDRESS = "127.0.0.1"
_SERVING = ("etcd", "kube-apiserver")
_ORDER = (*_SERVING, "kube-controller-manager", "kube-scheduler")
_PORTS_OF = {
    "etcd": ("etcd_client", "etcd_peer"),
    "kube-apiserver": ("apiserver",),
    "kube-controller-manager": ("controller_manager",),
    "kube-scheduler": ("scheduler",),
}
_START_ATTEMPTS = 5
# Whose each is, by the name of its file.
_KUBECONFIGS = {
    "admin": "kubernetes-admin",
    "controller-manager": "system:kube-controller-manager",
    "scheduler": "system:kube-scheduler",
}


@dataclass(frozen=True)
class Ports:
    """Where each component listens."""

    etcd_client: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int


@dataclass(frozen=True, kw_only=True)
class Options:
    """What kind of control plane is wanted. Extra arguments are pairs of a flag's name and its value."""

    # Kubernetes version; without one, what a named folder of programs holds, or the default.
    version: str | None = None
    controller_manager: bool = False
    scheduler: bool = False
    # Whether data has to survive the machine. Tests do not need that, and a write costs them no disk access.
    durable: bool = False
    # Whether processes go on when whoever started them is gone, however it went.
    outlive: bool = False
    names: Names = field(default_factory=Names)
    ports: Ports | None = None
    # Environment of every component, such as GOGC.
    environment: Mapping[str, str] = field(default_factory=dict)
    etcd_arguments: Sequence[tuple[str, str]] = ()
    apiserver_arguments: Sequence[tuple[str, str]] = ()
    controller_manager_arguments: Sequence[tuple[str, str]] = ()
    scheduler_arguments: Sequence[tuple[str, str]] = ()

    @property
    def components(self) -> tuple[str, ...]:
        wanted = {"kube-controller-manager": self.controller_manager, "kube-scheduler": self.scheduler}
        return tuple(name for name in _ORDER if wanted.get(name, True))


class ControlPlane:
    """etcd and an API server, with controller manager and scheduler where asked."""

    def __init__(self, folder: Path, options: Options | None = None) -> None:
        self.folder = folder.resolve()
        self.options = options or Options()
        self.processes: dict[str, Process] = {}
        self._programs: Mapping[str, Path] = {}
        self._certificates: Certificates | None = None
        self._ports: Ports | None = None
        self._guard: Guard | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.start()
            await self.wait_ready()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Have etcd and the API server running, as far as that it answers its administrator.

        It can be used from then on; `wait_ready` waits for the roles and priority classes that it still creates.
        """
        self._programs = await assets.find_all(self.options.components, self.options.version)
        private_folder(self.folder)
        self._certificates = load_or_issue(self._pki, self.options.names)
        self._ports = self._choose_ports()
        self._configure()
        if not self.options.outlive and self._guard is None:
            self._guard = Guard(self.folder)
        for name in _SERVING:
            await self._bring_up(name)

    async def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until `/readyz` is content, then have the other components running and healthy."""
        await self.apiserver.wait_ready(timeout, probe=self._apiserver_probe("/readyz"))
        others = [name for name in self.options.components if name not in _SERVING]
        for name in others:
            await self.processes[name].start()
        for name in others:
            await self._bring_up(name, timeout)

    async def stop(self) -> None:
        """End everything. The folder stays, and can be started again."""
        await self._stop_processes()
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    async def restart_apiserver(self, timeout: float = 60.0) -> None:
        """Stop the API server and start it again in its place: same address, same data."""
        await self.apiserver.restart()
        await self.wait_ready(timeout)  # a controller manager that was just starting gives up without it

    async def supervise(self) -> None:
        """Start again what ends, until `stop`; this runs as long as the control plane does."""
        async with asyncio.TaskGroup() as group:
            for process in self.processes.values():
                group.create_task(process.supervise(), name=f"supervise {process.name}")

    def detach(self) -> None:
        """Let everything run on without us; another ControlPlane on the folder adopts it."""
        assert self.options.outlive, "a control plane that does not outlive us cannot be left alone"
        for process in self.processes.values():
            process.detach()

    @property
    def url(self) -> str:
        return f"https://{_ADDRESS}:{self.ports.apiserver}"

    @property
    def apiserver(self) -> Process:
        """For tests that take it away for a while."""
        return self.processes["kube-apiserver"]

    @property
    def ports(self) -> Ports:
        assert self._ports is not None, "the control plane was not started"
        return self._ports

    @property
    def certificates(self) -> Certificates:
        assert self._certificates is not None, "the control plane was not started"
        return self._certificates

    @property
    def kubeconfig_file(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.conf"

    def kubeconfig(self, user: str | None = None, groups: Sequence[str] = ()) -> dict[str, Any]:
        """A kubeconfig: the administrator's, or that of a user of whom roles are to be tried."""
        if user is None:
            return self._kubeconfig(self.certificates["admin"], _KUBECONFIGS["admin"]).to_dict()
        client = self.certificates.authorities.cluster.issue(user, organizations=groups)
        return self._kubeconfig(client, user).to_dict()

    def _kubeconfig(self, client: KeyPair, user: str) -> Kubeconfig:
        authority = self.certificates.authorities.cluster.cert_pem
        return Kubeconfig.of(
            "kubernetes",
            user,
            Cluster(server=self.url, certificate_authority_data=authority),
            User(client_certificate_data=client.cert_pem, client_key_data=client.key_pem),
        )

    async def _bring_up(self, name: str, timeout: float = 60.0) -> None:
        """Have a component running and ready, on other ports if somebody took its own in the meantime."""
        for attempt in range(1, _START_ATTEMPTS + 1):
            try:
                await self.processes[name].start()
                await self.processes[name].wait_ready(timeout)
                break
            except ProcessFailed as failure:
                if not failure.address_in_use or self.options.ports or attempt == _START_ATTEMPTS:
                    raise
                self._exchange_ports(name)

    async def _stop_processes(self) -> None:
        """In the opposite order; also what an earlier manager of this folder left running.

        What need not be durable is not asked to end in good order, which takes the API server a second or more.
        """
        for name in reversed(_ORDER):
            process = self.processes.get(name) or Process(name, Command(()), self.folder)
            await process.stop(grace=10.0 if self.options.durable else 0.0)

    def _choose_ports(self) -> Ports:
        """Those that are asked for, those of the last time, or free ones."""
        if self.options.ports is not None:
            return self.options.ports
        if self._ports_file.is_file():
            return Ports(**json.loads(self._ports_file.read_bytes()))
        return Ports(*free_ports(5, _ADDRESS))

    def _exchange_ports(self, name: str) -> None:
        fields = _PORTS_OF[name]
        self._ports = replace(self.ports, **dict(zip(fields, free_ports(len(fields), _ADDRESS), strict=True)))
        self._configure()

    def _configure(self) -> None:
        """Write what components read, and say how each is run."""
        write_private(self._ports_file, json.dumps(asdict(self.ports)).encode())
        for name, user in _KUBECONFIGS.items():
            config = self._kubeconfig(self.certificates[name], user)
            write_private(self.folder / f"{name}.conf", config.to_yaml().encode())
        arguments = control_plane_arguments(self.folder, self.options, self.ports)
        probes = self._probes()
        for name, program in self._programs.items():
            command = Command((str(program), *arguments[name]), self.options.environment)
            process = self.processes.setdefault(name, Process(name, command, self.folder))
            process.command, process.probe = command, probes[name]

    def _probes(self) -> dict[str, HTTPSProbe]:
        ca, etcd_ca = self._pki / "ca.crt", self._pki / "etcd" / "ca.crt"
        etcd_client = (self._pki / "apiserver-etcd-client.crt", self._pki / "apiserver-etcd-client.key")
        ports = self.ports
        return {
            "etcd": HTTPSProbe(_ADDRESS, ports.etcd_client, "/health", ca_file=etcd_ca, client=etcd_client),
            "kube-apiserver": self._apiserver_probe("/api"),
            "kube-controller-manager": HTTPSProbe(_ADDRESS, ports.controller_manager, "/healthz", ca_file=ca),
            "kube-scheduler": HTTPSProbe(_ADDRESS, ports.scheduler, "/readyz", ca_file=ca),
        }

    def _apiserver_probe(self, path: str) -> HTTPSProbe:
        """As the administrator: before the roles are there, nobody else may ask."""
        admin = (self._pki / "admin.crt", self._pki / "admin.key")
        return HTTPSProbe(_ADDRESS, self.ports.apiserver, path, ca_file=self._pki / "ca.crt", client=admin)

    @property
    def _pki(self) -> Path:
        return self.folder / "pki"

    @property
    def _ports_file(self) -> Path:
        return self.folder / "ports.json"


def control_plane_arguments(folder: Path, options: Options, ports: Ports) -> dict[str, tuple[str, ...]]:
    """The arguments of each component of a control plane that lives in a folder."""
    pki, names = folder / "pki", options.names
    etcd = Etcd(
        client_port=ports.etcd_client,
        peer_port=ports.etcd_peer,
        certificates=pki,
        data=folder / "etcd",
        durable=options.durable,
        extra_arguments=options.etcd_arguments,
    )
    apiserver = APIServer(
        bind_address=_ADDRESS,
        port=ports.apiserver,
        certificates=pki,
        etcd_servers=(etcd.client_url,),
        service_cidr=names.service_cidr,
        cluster_domain=names.cluster_domain,
        # The plugin asks for the account `default`, which only the controller manager makes: no pod without it.
        disable_admission_plugins=() if options.controller_manager else ("ServiceAccount",),
        extra_arguments=options.apiserver_arguments,
    )
    controller_manager = ControllerManager(
        port=ports.controller_manager,
        certificates=pki,
        kubeconfig=folder / "controller-manager.conf",
        service_cidr=names.service_cidr,
        extra_arguments=options.controller_manager_arguments,
    )
    scheduler = Scheduler(
        port=ports.scheduler,
        certificates=pki,
        kubeconfig=folder / "scheduler.conf",
        extra_arguments=options.scheduler_arguments,
    )
    return {
        "etcd": etcd_arguments(etcd),
        "kube-apiserver": apiserver_arguments(apiserver),
        "kube-controller-manager": controller_manager_arguments(controller_manager),
        "kube-scheduler": scheduler_arguments(scheduler),
    }
