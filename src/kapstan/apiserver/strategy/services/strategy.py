"""ServiceStrategy: a service gets its address and its ports before it is validated."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.registry.errors import internal, invalid
from kapstan.apiserver.strategy.base import Object
from kapstan.apiserver.strategy.builtin import BuiltinStrategy
from kapstan.apiserver.strategy.services.allocation import NODE_PORTS, Allocations, allocations
from kapstan.apiserver.strategy.services.families import initialize_families
from kapstan.apiserver.strategy.services.fields import (
    drop_type_dependent,
    keep_allocated,
    needs_health_check,
    needs_node_ports,
    normalize_cluster_ips,
    wants_node_ports,
)
from kapstan.apiserver.strategy.validation.services import cluster_ips
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.validation import FieldError, Path

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request
    from kapstan.machinery.errors import APIError

__all__ = ("ServiceStrategy",)

_SPEC = Path("spec")
_PORT_TAKEN = "provided port is already allocated"
_PORT_OUTSIDE = (
    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
)


class ServiceStrategy(BuiltinStrategy):
    """The main endpoint of services."""

    def prepare_for_create(self, request: Request, obj: Object) -> None:
        spec = obj["spec"]
        normalize_cluster_ips(spec, None)
        _Allocation(request, obj).run(None)
        super().prepare_for_create(request, obj)

    def prepare_for_update(self, request: Request, obj: Object, old: Object) -> None:
        spec, old_spec = obj["spec"], old["spec"]
        keep_allocated(spec, old_spec)
        normalize_cluster_ips(spec, old_spec)
        _Allocation(request, obj).run(old_spec)
        super().prepare_for_update(request, obj, old)
        drop_type_dependent(obj, old)


class _Allocation:
    """What one write needs of addresses and ports."""

    def __init__(self, request: Request, service: Object) -> None:
        metadata = service["metadata"]
        self._name = metadata.get("name", "")
        self._key = f"{metadata.get('namespace') or request.namespace}/{self._name}"
        self._taken: Allocations = allocations(request.cluster.storage)
        self._dry_run = request.dry_run
        self._spec: Object = service["spec"]
        self._asked: set[int] = set()  # node ports that this write takes

    def run(self, old: Object | None) -> None:
        """Fill in what the service needs and does not have yet."""
        if errors := list(cluster_ips(self._spec)) or initialize_families(self._spec, old):
            raise self._invalid(errors)
        if old is None or old.get("type") == "ExternalName":
            self._take_addresses()
        if needs_node_ports(self._spec):
            self._take_ports(old or {})
        if needs_health_check(self._spec) and not (old and needs_health_check(old)):
            self._take_health_check_port()

    def _take_addresses(self) -> None:
        spec = self._spec
        addresses = spec.get("clusterIPs") or []
        if spec.get("type") == "ExternalName" or addresses[:1] == ["None"]:
            return
        for address in addresses:
            if why := self._address_refusal(address):
                detail = f"failed to allocate IP {address}: {why}"
                raise self._invalid([FieldError.invalid(_SPEC.child("clusterIPs"), addresses, detail)])
            self._reserve(address)
        if not addresses:
            found = str(self._taken.network[0]) if self._dry_run else self._taken.next_address(self._key)
            if found is None:
                raise internal(f'failed to allocate a serviceIP for Service "{self._name}": range is full')
            self._reserve(found)
            addresses = [found]
        spec["clusterIPs"], spec["clusterIP"] = addresses, addresses[0]

    def _address_refusal(self, address: str) -> str:
        network = self._taken.network
        if ip_address(address) not in network:
            return f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
        return "" if self._taken.is_free(address, self._key) else "provided IP is already allocated"

    def _take_ports(self, old: Object) -> None:
        """Ports of one number with different protocols share their node port."""
        before = {port.get("nodePort") for port in old.get("ports") or ()}
        ports = self._spec.get("ports") or []
        given: dict[int, int] = {}
        for position, port in enumerate(ports):
            wanted = port.get("nodePort", 0)
            if not wanted and not wants_node_ports(self._spec):
                continue
            if not wanted:
                asked = (one.get("nodePort") for one in ports if one["port"] == port["port"] and one.get("nodePort"))
                wanted = given.get(port["port"]) or next(asked, 0)
            if not wanted:
                wanted = self._next_port("nodePort")
            elif wanted not in before and given.get(port["port"]) != wanted:
                self._take_port(wanted, _SPEC.child("ports").index(position).child("nodePort"))
            port["nodePort"] = given[port["port"]] = wanted

    def _take_port(self, port: int, path: Path) -> None:
        why = ""
        if port in self._asked or not self._taken.is_free(port, self._key):
            why = _PORT_TAKEN
        elif port not in NODE_PORTS and not self._dry_run:
            why = _PORT_OUTSIDE
        if why:
            raise self._invalid([FieldError.invalid(path, port, why)])
        self._asked.add(port)
        self._reserve(port)

    def _next_port(self, what: str) -> int:
        port = self._taken.next_port(self._key)
        if port is None:
            raise internal(f"failed to allocate a {what}: range is full")
        self._reserve(port)
        return port

    def _take_health_check_port(self) -> None:
        port = self._spec.get("healthCheckNodePort", 0)
        if not port:
            self._spec["healthCheckNodePort"] = self._next_port("HealthCheck NodePort")
        elif port not in NODE_PORTS or not self._taken.is_free(port, self._key):
            why = _PORT_TAKEN if port in NODE_PORTS else _PORT_OUTSIDE
            raise internal(f"failed to allocate requested HealthCheck NodePort {port}: {why}")
        else:
            self._reserve(port)

    def _reserve(self, item: Any) -> None:
        if not self._dry_run:
            self._taken.reserve(item, self._key)

    def _invalid(self, errors: list[FieldError]) -> APIError:
        return invalid(GroupKind("", "Service"), self._name, errors)
