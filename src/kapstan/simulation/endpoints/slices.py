"""Slices: a Service's members as EndpointSlices of at most a hundred. Pure.

A member stays in the slice that it is in: a change of one pod changes one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kapstan.k8s.core_v1 import Service
from kapstan.k8s.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.owners import owner_reference
from kapstan.simulation.endpoints.members import Member, Port, Ports, grouped, headless, reference

__all__ = ("MANAGED_BY", "SERVICE_NAME", "Plan", "labels_of", "planned")

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"
_HEADLESS = "service.kubernetes.io/headless"
_MOST = 100

# The zone of a node.
ZoneOf = Callable[[str], str]


class Plan(NamedTuple):
    """What the slices shall be: those that exist with what they shall hold, new ones, and those to delete."""

    kept: list[tuple[EndpointSlice, EndpointSlice]]
    new: list[EndpointSlice]
    gone: list[EndpointSlice]


def planned(service: Service, found: Sequence[Member], existing: Sequence[EndpointSlice], zone_of: ZoneOf) -> Plan:
    """How to get from the slices that exist to those that are wanted."""
    plan = Plan([], [], [])
    groups: Mapping[Ports, list[Member]] = grouped(found) or {(): []}  # a Service without pods has an empty slice
    for ports, group in groups.items():
        mine = [one for one in existing if _same_ports(one, ports)]
        _plan_group(plan, service, ports, {one.pod.uid: _endpoint(service, one, zone_of) for one in group}, mine)
    wanted = {one.metadata.name for one, _ in plan.kept}
    plan.gone.extend(one for one in existing if one.name not in wanted)
    return plan


def labels_of(service: Service) -> dict[str, str]:
    own = {SERVICE_NAME: service.name, MANAGED_BY: CONTROLLER}
    return {**service.metadata.labels, **own, **({_HEADLESS: ""} if headless(service) else {})}


def _plan_group(
    plan: Plan, service: Service, ports: Ports, wanted: dict[str, Endpoint], existing: Sequence[EndpointSlice]
) -> None:
    keeps: list[tuple[EndpointSlice, list[Endpoint]]] = []
    for one in existing:
        uids = [ref.uid or "" for endpoint in one.endpoints if (ref := endpoint.target_ref) is not None]
        kept = [wanted.pop(uid) for uid in uids if uid in wanted]
        keeps.append((one, kept))
    rest = list(wanted.values())
    for _, kept in keeps:
        room = _MOST - len(kept)
        kept += rest[:room]
        rest = rest[room:]
    filled = [(one, kept) for one, kept in keeps if kept] or (keeps[:1] if not rest else [])
    plan.kept.extend((one, _slice(service, ports, kept, one.metadata)) for one, kept in filled)
    while rest or not (filled or plan.new):
        part, rest = rest[:_MOST], rest[_MOST:]
        plan.new.append(_slice(service, ports, part, None))
        if not part:
            break


def _slice(service: Service, ports: Ports, endpoints: list[Endpoint], metadata: ObjectMeta | None) -> EndpointSlice:
    fresh = ObjectMeta(
        generate_name=f"{service.name}-",
        namespace=service.namespace,
        owner_references=[owner_reference(service, controller=True)],
    )
    return EndpointSlice(
        metadata=(metadata or fresh).replace(labels=labels_of(service)),
        address_type="IPv4",
        endpoints=endpoints,
        ports=[_port(one) for one in ports],
    )


def _endpoint(service: Service, member: Member, zone_of: ZoneOf) -> Endpoint:
    pod, node = member.pod, member.pod.spec.node_name or ""
    named = pod.spec.hostname if headless(service) and pod.spec.subdomain == service.name else None
    always = bool(service.spec.publish_not_ready_addresses)
    return Endpoint(
        addresses=[pod.status.pod_ip or ""],
        conditions=EndpointConditions(
            ready=member.ready and (always or not member.terminating),
            serving=member.ready,
            terminating=member.terminating,
        ),
        hostname=named or None,
        node_name=node or None,
        target_ref=reference(pod),
        zone=zone_of(node) or None,
    )


def _port(port: Port) -> EndpointPort:
    return EndpointPort(name=port.name, port=port.port, protocol=port.protocol, app_protocol=port.app_protocol)


def _same_ports(one: EndpointSlice, ports: Ports) -> bool:
    return {(port.name or "", port.port, port.protocol) for port in one.ports} == {
        (port.name, port.port, port.protocol) for port in ports
    }
