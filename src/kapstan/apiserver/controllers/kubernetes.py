"""The service `kubernetes` in the namespace `default`, by which pods find the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapstan.apiserver.strategy.services.allocation import SERVICE_NETWORK
from kapstan.machinery.errors import AlreadyExists, APIError

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("ensure_service",)

Object = dict[str, Any]

_PORT = 443
_DEFAULT_TARGET = 6443


async def ensure_service(cluster: LogicalCluster) -> None:
    """Create the service if it is missing. It leads to where the server listens, if that is known already."""
    port = cluster.address.rpartition(":")[2]
    target = int(port) if port.isdecimal() else _DEFAULT_TARGET
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": str(SERVICE_NETWORK[1]),
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": _PORT, "protocol": "TCP", "targetPort": target}],
        },
    }
    try:
        await cluster.api.create(service)
    except AlreadyExists:
        return
    except APIError as error:
        if error.code != 422:  # another service has its address already: then that one is meant
            raise
