"""The service `kubernetes` in the namespace `default`, by which pods find the API server, and where it leads to.

And the range that addresses of services are taken from, of the same name.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.strategy.services.allocation import allocations
from kapstan.machinery.errors import AlreadyExists, APIError
from kapstan.machinery.gvk import GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("ensure_service",)

Object = dict[str, Any]

_PORT = 443
_DEFAULT_TARGET = 6443
_NAME, _NAMESPACE = "kubernetes", "default"
_SERVICE_CIDR = GroupVersionKind("networking.k8s.io", "v1", "ServiceCIDR")


async def ensure_service(cluster: LogicalCluster) -> None:
    """Have the service, and the endpoints behind it, lead to where the server listens now, if that is known already."""
    host, _, port = cluster.address.rpartition(":")
    target = int(port) if port.isdecimal() else _DEFAULT_TARGET
    await _ensure_range(cluster)
    try:
        await _ensure(cluster, _service(target, str(allocations(cluster.storage).network[1])))
    except APIError as error:
        if error.code != 422:  # another service has its address already: then that one is meant
            raise
    if _is_public(host):
        await _ensure(cluster, _endpoints(host, target))
        await _ensure(cluster, _slice(host, target))


async def _ensure_range(cluster: LogicalCluster) -> None:
    network = str(allocations(cluster.storage).network)
    try:
        made = await cluster.api.create(
            {
                "apiVersion": _SERVICE_CIDR.api_version,
                "kind": _SERVICE_CIDR.kind,
                "metadata": {"name": _NAME},
                "spec": {"cidrs": [network]},
            }
        )
    except AlreadyExists:
        return  # ready since the first start
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": made["metadata"]["creationTimestamp"],
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    await cluster.api.patch(_SERVICE_CIDR, _NAME, "", {"status": {"conditions": [ready]}}, subresource="status")


async def _ensure(cluster: LogicalCluster, wanted: Object) -> None:
    """Create an object; one that is there already may be of an earlier start, at another address."""
    try:
        await cluster.api.create(wanted)
    except AlreadyExists:
        gvk = GroupVersionKind.of(wanted["apiVersion"], wanted["kind"])
        content = {name: value for name, value in wanted.items() if name not in ("apiVersion", "kind", "metadata")}
        await cluster.api.patch(gvk, _NAME, _NAMESPACE, content)


def _is_public(host: str) -> bool:
    """Whether endpoints may have that address: those of this machine alone, or of no machine, are refused."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_link_local)


def _service(target: int, address: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(component="apiserver", provider="kubernetes"),
        "spec": {
            "clusterIP": address,
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": _PORT, "protocol": "TCP", "targetPort": target}],
        },
    }


def _endpoints(host: str, port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": _metadata(**{"endpointslice.kubernetes.io/skip-mirror": "true"}),
        "subsets": [{"addresses": [{"ip": host}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
    }


def _slice(host: str, port: int) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": _metadata(**{"kubernetes.io/service-name": _NAME}),
        "addressType": "IPv6" if ":" in host else "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def _metadata(**labels: str) -> Object:
    return {"name": _NAME, "namespace": _NAMESPACE, "labels": labels}
