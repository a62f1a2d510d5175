"""Endpoint slices."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.strategy.validation.addresses import canonical_ip, ip_address, parse_ip
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    immutable,
    labels,
    qualified_name,
)
from kapstan.apiserver.strategy.validation.services import endpoint_ip
from kapstan.machinery.names import dns1123_label_errors, dns1123_subdomain_errors, label_value_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("endpoint_slice", "endpoint_slice_update", "full_domain_name")

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_ENDPOINTS, _MAX_ADDRESSES, _MAX_PORTS, _MAX_TOPOLOGY, _MAX_HINTS = 1000, 100, 20_000, 16, 8


def endpoint_slice(obj: Object) -> Rules:
    yield from _type_and_ports(obj)
    yield from _endpoints(obj.get("endpoints") or (), obj.get("addressType", ""), Path("endpoints"))


def endpoint_slice_update(obj: Object, old: Object) -> Rules:
    yield from _type_and_ports(obj)
    if obj.get("endpoints") != old.get("endpoints"):
        yield from _endpoints(obj.get("endpoints") or (), obj.get("addressType", ""), Path("endpoints"))
    yield from immutable(obj.get("addressType", ""), old.get("addressType", ""), Path("addressType"))


def _type_and_ports(obj: Object) -> Rules:
    kind = obj.get("addressType", "")
    if not kind:
        yield FieldError.required(Path("addressType"))
    elif kind not in _ADDRESS_TYPES:
        yield FieldError.not_supported(Path("addressType"), kind, _ADDRESS_TYPES)
    yield from _ports(obj.get("ports") or (), Path("ports"))


def _ports(ports: Sequence[Object], path: Path) -> Rules:
    if len(ports) > _MAX_PORTS:
        yield FieldError.too_many(path, len(ports), _MAX_PORTS)
        return
    names: set[str] = set()
    for position, one in enumerate(ports):
        at, name, protocol = path.index(position), one.get("name") or "", one.get("protocol")
        if name:
            yield from dns_label(name, at.child("name"))
        if name in names:
            yield FieldError.duplicate(at.child("name"), name)
        names.add(name)
        if protocol is None:
            yield FieldError.required(at.child("protocol"))
        elif protocol not in _PROTOCOLS:
            yield FieldError.not_supported(at.child("protocol"), protocol, _PROTOCOLS)
        if one.get("appProtocol") is not None:
            yield from qualified_name(one["appProtocol"], at.child("appProtocol"))


def _endpoints(endpoints: Sequence[Object], kind: str, path: Path) -> Rules:
    if len(endpoints) > _MAX_ENDPOINTS:
        yield FieldError.too_many(path, len(endpoints), _MAX_ENDPOINTS)
        return
    for position, endpoint in enumerate(endpoints):
        yield from _endpoint(endpoint, kind, path.index(position))


def _endpoint(endpoint: Object, kind: str, path: Path) -> Rules:
    addresses, at = endpoint.get("addresses") or (), path.child("addresses")
    if not addresses:
        yield FieldError.required(at, "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield FieldError.too_many(at, len(addresses), _MAX_ADDRESSES)
    for position, address in enumerate(addresses):
        yield from _address(address, kind, at, position)
    if endpoint.get("nodeName") is not None:
        yield from dns_subdomain(endpoint["nodeName"], path.child("nodeName"))
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _MAX_TOPOLOGY:
        yield FieldError.too_many(path.child("deprecatedTopology"), len(topology), _MAX_TOPOLOGY)
    yield from labels(topology, path.child("deprecatedTopology"))
    if endpoint.get("hostname") is not None:
        yield from dns_label(endpoint["hostname"], path.child("hostname"))
    if endpoint.get("hints") is not None:
        yield from _hints(endpoint["hints"], path.child("hints"))


def _address(address: str, kind: str, path: Path, position: int) -> Rules:
    at = path.index(position)
    if kind == "FQDN":
        yield from full_domain_name(address, at, segments=2)
        return
    if kind not in ("IPv4", "IPv6"):
        return
    wrong = list(ip_address(address, at) if kind == "IPv4" else canonical_ip(address, at))
    if wrong:
        yield from wrong
        return
    found = parse_ip(address)
    if found is not None and f"IPv{found.version}" != kind:
        yield FieldError.invalid(path, address, f"must be an {kind} address")
    yield from endpoint_ip(address, at)


def full_domain_name(name: str, path: Path, *, segments: int) -> Rules:
    """A domain name of at least some segments."""
    name = name.removesuffix(".") if segments == 2 else name
    if not name:
        yield FieldError.required(path)
    elif errors := dns1123_subdomain_errors(name):
        yield FieldError.invalid(path, name, ",".join(errors))
    elif name.count(".") < segments - 1:
        count = {2: "two", 3: "three"}[segments]
        yield FieldError.invalid(path, name, f"should be a domain with at least {count} segments separated by dots")
    elif segments == 2:
        for label in name.split("."):
            if errors := dns1123_label_errors(label):
                yield FieldError.invalid(path, label, ",".join(errors))
                return


def _hints(hints: Object, path: Path) -> Rules:
    for field, check in (("forZones", label_value_errors), ("forNodes", dns1123_subdomain_errors)):
        found, at, seen = hints.get(field) or (), path.child(field), set[str]()
        if len(found) > _MAX_HINTS:
            yield FieldError.too_many(at, len(found), _MAX_HINTS)
            return
        for position, hint in enumerate(found):
            name = hint.get("name", "")
            if name in seen:
                yield FieldError.duplicate(at.index(position).child("name"), name)
            seen.add(name)
            yield from complaints(name, at.index(position).child("name"), check)
