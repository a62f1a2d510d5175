"""Probes: how a component is asked whether it works.

Asked anew with fresh certificates each time somebody makes them: those in the files are renewed now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kapstan.cluster.controlplane.hosted.certificates import local_address
from kapstan.cluster.controlplane.hosted.runtime.folder import Record
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.cluster.controlplane.hosted.runtime.process.slots import SlotProbe
from kapstan.components.probe import HTTPSProbe
from kapstan.components.process import Probe

__all__ = ("MakeProbes", "Probes", "etcd_probes", "probes_of")


@dataclass(frozen=True)
class Probes:
    """The questions to one component."""

    ready: Probe
    # Whether it would help to start it again.
    alive: Probe
    # Whether it answers at all, where that comes well before it is ready.
    answers: Probe | None = None
    # Whether the one in a certain slot is ready, where there are several.
    of_slot: Callable[[int], Probe] | None = None
    # The same questions to one that listens on another port.
    on_port: Callable[[int], Probes] | None = None


MakeProbes = Callable[[], Probes]


def probes_of(pki: Path, record: Record) -> Mapping[ComponentName, MakeProbes]:
    """The questions to the components of a control plane."""
    ports = record.ports
    return {
        ComponentName.ETCD: lambda: etcd_probes(pki, ports.etcd_client),
        ComponentName.API_SERVER: lambda: _api_server(pki, local_address(record.bind_address), ports.apiserver),
        ComponentName.CONTROLLER_MANAGER: lambda: _local(pki, ports.controller_manager, "/healthz", "/healthz"),
        ComponentName.SCHEDULER: lambda: _local(pki, ports.scheduler, "/readyz", "/livez"),
    }


def etcd_probes(pki: Path, port: int) -> Probes:
    client = (pki / "etcd" / "healthcheck-client.crt", pki / "etcd" / "healthcheck-client.key")

    def ask(path: str) -> Probe:
        return HTTPSProbe("127.0.0.1", port, path, ca_file=pki / "etcd" / "ca.crt", client=client)

    return Probes(ready=ask("/readyz"), alive=ask("/livez"))


def _api_server(pki: Path, host: str, port: int) -> Probes:
    """As an administrator: before the roles are there, nobody else may ask."""
    client = (pki / "super-admin.crt", pki / "super-admin.key")

    def ask(path: str) -> Probe:
        return HTTPSProbe(host, port, path, ca_file=pki / "ca.crt", client=client)

    return Probes(
        ready=ask("/readyz"),
        alive=ask("/livez"),
        answers=ask("/api"),
        of_slot=lambda slot: SlotProbe(host, port, "/readyz", pki=pki, slot=slot),
        on_port=lambda other: _api_server(pki, host, other),
    )


def _local(pki: Path, port: int, ready: str, alive: str) -> Probes:
    return Probes(
        ready=HTTPSProbe("127.0.0.1", port, ready, ca_file=pki / "ca.crt"),
        alive=HTTPSProbe("127.0.0.1", port, alive, ca_file=pki / "ca.crt"),
    )
