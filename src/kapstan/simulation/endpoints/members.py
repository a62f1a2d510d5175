"""Members: the pods of a Service as endpoints, grouped by the ports that they serve. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from kapstan.k8s.core_v1 import ObjectReference, Pod, Service, ServicePort
from kapstan.simulation.pods import is_finished, is_ready

__all__ = ("Member", "Port", "Ports", "grouped", "headless", "members", "reference")


class Port(Struct, frozen=True):
    """A port of a Service, as a pod serves it."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None = None


Ports: TypeAlias = tuple[Port, ...]


class Member(Struct, frozen=True):
    """A pod of a Service."""

    pod: Pod
    ports: Ports
    ready: bool  # of the pod, or taken to be so
    terminating: bool


def headless(service: Service) -> bool:
    return service.spec.cluster_ip in (None, "", "None")


def members(service: Service, pods: Iterable[Pod]) -> list[Member]:
    """The pods that have an address and have not ended."""
    always = bool(service.spec.publish_not_ready_addresses)
    return [
        Member(pod, _ports(service, pod), always or is_ready(pod), pod.deleting)
        for pod in pods
        if pod.status.pod_ip and not is_finished(pod)
    ]


def grouped(found: Iterable[Member]) -> Mapping[Ports, list[Member]]:
    groups: dict[Ports, list[Member]] = {}
    for one in found:
        groups.setdefault(one.ports, []).append(one)
    return groups


def reference(pod: Pod) -> ObjectReference:
    return ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid)


def _ports(service: Service, pod: Pod) -> Ports:
    found = (_port(one, pod) for one in service.spec.ports)
    return tuple(port for port in found if port is not None)


def _port(port: ServicePort, pod: Pod) -> Port | None:
    """None if the port is named and the pod has none of that name."""
    target = port.target_port if port.target_port not in (None, "") else port.port
    number = target if isinstance(target, int) else _named(target or "", port.protocol or "TCP", pod)
    if number is None:
        return None
    return Port(port.name or "", number, port.protocol or "TCP", port.app_protocol)


def _named(name: str, protocol: str, pod: Pod) -> int | None:
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    for container in [*pod.spec.containers, *sidecars]:
        for port in container.ports:
            if port.name == name and (port.protocol or "TCP") == protocol:
                return port.container_port
    return None
