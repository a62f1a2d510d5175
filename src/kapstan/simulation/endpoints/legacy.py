"""Legacy: a Service's members as Endpoints, the older kind of which there is one for each Service. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.k8s.core_v1 import EndpointAddress, EndpointPort, Endpoints, EndpointSubset, Service
from kapstan.machinery.meta import ObjectMeta
from kapstan.simulation.endpoints.members import Member, Ports, grouped, headless, reference

__all__ = ("desired_endpoints",)

_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_HEADLESS = "service.kubernetes.io/headless"


def desired_endpoints(service: Service, found: Sequence[Member]) -> Endpoints:
    """Pods that are being deleted are left out, unless the Service wants those that are not ready, too."""
    always = bool(service.spec.publish_not_ready_addresses)
    present = [one for one in found if always or not one.terminating]
    subsets = [_subset(ports, group) for ports, group in sorted(grouped(present).items(), key=_order)]
    own = {_MANAGED_BY: "endpoint-controller", **({_HEADLESS: ""} if headless(service) else {})}
    return Endpoints(
        metadata=ObjectMeta(name=service.name, namespace=service.namespace, labels={**service.metadata.labels, **own}),
        subsets=subsets,
    )


def _subset(ports: Ports, group: Sequence[Member]) -> EndpointSubset:
    ordered = sorted(group, key=lambda one: (one.pod.status.pod_ip or "", one.pod.uid))
    return EndpointSubset(
        addresses=[_address(one) for one in ordered if one.ready],
        not_ready_addresses=[_address(one) for one in ordered if not one.ready],
        ports=[
            EndpointPort(name=one.name or None, port=one.port, protocol=one.protocol, app_protocol=one.app_protocol)
            for one in ports
        ],
    )


def _address(member: Member) -> EndpointAddress:
    pod = member.pod
    return EndpointAddress(ip=pod.status.pod_ip or "", node_name=pod.spec.node_name or None, target_ref=reference(pod))


def _order(item: tuple[Ports, Sequence[Member]]) -> list[tuple[str, int, str]]:
    return [(port.name, port.port, port.protocol) for port in item[0]]
