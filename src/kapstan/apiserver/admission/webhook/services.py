"""Where the Services that webhooks are behind can be reached.

Nothing routes cluster IPs to an embedded server, so a Service's endpoints are dialled directly. Who runs a webhook
beside the server (a test, a manager on this machine) says where: `Services.redirect`.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource

__all__ = ("Services",)

_SERVICES = GroupResource("", "services")
_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_SERVICE_NAME = "kubernetes.io/service-name"

Object = dict[str, Any]


class Services:
    """Resolves Services of one logical cluster."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._redirects: dict[tuple[str, str], tuple[str, int]] = {}

    def redirect(self, namespace: str, name: str, host: str, port: int) -> None:
        """Reach that Service, on whichever port, at this address."""
        self._redirects[namespace, name] = (host, port)

    def __call__(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        known = self._redirects.get((namespace, name))
        if known is not None:
            return known
        record = self._storage.get(_SERVICES, f"{namespace}/{name}")
        if record is None:
            raise LookupError(f"service {quote(name)} not found")
        spec = codec.decode_any(record.value).get("spec") or {}
        if spec.get("type") == "ExternalName":
            return spec["externalName"], port
        wanted = next((one for one in spec.get("ports") or () if one.get("port") == port), None)
        if wanted is None:
            raise LookupError(f"no service port {port} found for service {quote(name)}")
        return self._endpoint(namespace, name, wanted.get("name", ""))

    def _endpoint(self, namespace: str, name: str, port_name: str) -> tuple[str, int]:
        for record in self._storage.list(_SLICES, f"{namespace}/"):
            if record.labels.get(_SERVICE_NAME) != name:
                continue
            document = codec.decode_any(record.value)
            port = next((one for one in document.get("ports") or () if one.get("name", "") == port_name), None)
            address = next(filter(None, map(_ready_address, document.get("endpoints") or ())), None)
            if port is not None and address is not None:
                return address, port["port"]
        raise LookupError(f"no endpoints available for service {quote(name)}")


def _ready_address(endpoint: Object) -> str | None:
    if (endpoint.get("conditions") or {}).get("ready") is False:
        return None
    addresses = endpoint.get("addresses") or [None]
    address: str | None = addresses[0]
    return address
