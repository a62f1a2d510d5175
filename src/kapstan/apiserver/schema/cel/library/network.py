"""Kubernetes' own types for addresses on networks: URLs, IP addresses, CIDRs."""

from __future__ import annotations

import ipaddress
from typing import Any

from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.schema.cel.declarations import Library
from kapstan.apiserver.schema.cel.values import EvaluationError, Opaque, no_such_overload
from kapstan.apiserver.schema.formats.addresses import Address, Network, parse_address, parse_network
from kapstan.apiserver.schema.formats.urls import URL, InvalidURL, is_uri, parse_request_uri, parse_url
from kapstan.machinery.golang import quote

__all__ = ("NETWORK",)

_URL = types.object_type("kubernetes.URL")
_IP = types.opaque_type("net.IP")
_CIDR = types.opaque_type("net.CIDR")
NETWORK = Library(URL=_URL, IP=_IP, CIDR=_CIDR)
_add = NETWORK.add


class URLValue(Opaque):
    """A parsed URL."""

    __slots__ = ("url",)

    cel_type = _URL

    def __init__(self, url: URL) -> None:
        self.url = url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URLValue) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)


class IPValue(Opaque):
    """An IP address."""

    __slots__ = ("address",)

    cel_type = _IP

    def __init__(self, address: Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IPValue) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __str__(self) -> str:
        return str(self.address)


class CIDRValue(Opaque):
    """An address with the length of its network's prefix."""

    __slots__ = ("network",)

    cel_type = _CIDR

    def __init__(self, network: Network) -> None:
        self.network = network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDRValue) and self.network == other.network

    def __hash__(self) -> int:
        return hash(self.network)

    def __str__(self) -> str:
        return str(self.network)


def _url(text: str) -> URLValue:
    try:
        parse_request_uri(text)
        return URLValue(parse_url(text))
    except InvalidURL as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _ip(text: str) -> IPValue:
    try:
        address = parse_address(text)
    except ValueError as error:
        shown = f"IP Address {quote(text)} parse error during conversion from string: {error}"
        raise EvaluationError(shown) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise EvaluationError(f"IP address {quote(text)} with zone value is not allowed")
        if address.ipv4_mapped:
            raise EvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IPValue(address)


def _cidr(text: str) -> CIDRValue:
    prefix = "network address parse error during conversion from string: "
    try:
        network = parse_network(text)
    except ValueError as error:
        raise EvaluationError(f"{prefix}{prefix}{error}") from None
    if isinstance(network, ipaddress.IPv6Interface) and network.ip.ipv4_mapped:
        raise EvaluationError(f"{prefix}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return CIDRValue(network)


def _is(parse: Any) -> Any:
    def run(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return run


def _contains_ip(cidr: CIDRValue, ip: IPValue) -> bool:
    network, address = cidr.network.network, ip.address
    return network.version == address.version and address in network


def _contains_ip_text(cidr: CIDRValue, text: str) -> bool:
    try:
        return _contains_ip(cidr, _ip(text))
    except EvaluationError:
        raise no_such_overload() from None


def _contains_cidr(cidr: CIDRValue, other: CIDRValue) -> bool:
    outer, inner = cidr.network.network, other.network.network
    return outer.version == inner.version and outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


def _masked(cidr: CIDRValue) -> CIDRValue:
    network = cidr.network.network
    return CIDRValue(type(cidr.network)((network.network_address, network.prefixlen)))


def _is_link_local_multicast(ip: IPValue) -> bool:
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in ipaddress.IPv4Network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02


def _is_global_unicast(ip: IPValue) -> bool:
    address = ip.address
    is_broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    special = address.is_unspecified or address.is_loopback or address.is_multicast or _is_link_local(ip)
    return not special and not is_broadcast


def _is_link_local(ip: IPValue) -> bool:
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in ipaddress.IPv4Network("169.254.0.0/16")
    return ip.address in ipaddress.IPv6Network("fe80::/10")


_add("string_to_url", "url(string) -> URL", _url, member=False)
_add("is_url_string", "isURL(string) -> bool", is_uri, member=False)
_add("url_get_scheme", "URL.getScheme() -> string", lambda value: value.url.scheme)
_add("url_get_host", "URL.getHost() -> string", lambda value: value.url.host)
_add("url_get_hostname", "URL.getHostname() -> string", lambda value: value.url.hostname)
_add("url_get_port", "URL.getPort() -> string", lambda value: value.url.port)
_add("url_get_escaped_path", "URL.getEscapedPath() -> string", lambda value: value.url.escaped_path)
_add("url_get_query", "URL.getQuery() -> map(string, list(string))", lambda value: value.url.parameters)

_add("string_to_ip", "ip(string) -> IP", _ip, member=False)
_add("is_ip", "isIP(string) -> bool", _is(_ip), member=False)
_add("ip_is_canonical", "ip.isCanonical(string) -> bool", lambda text: str(_ip(text)) == text, member=False)
_add("ip_to_string", "string(IP) -> string", str, member=False)
_add("ip_family", "IP.family() -> int", lambda ip: ip.address.version)
_add("ip_is_unspecified", "IP.isUnspecified() -> bool", lambda ip: ip.address.is_unspecified)
_add("ip_is_loopback", "IP.isLoopback() -> bool", lambda ip: ip.address.is_loopback)
_add("ip_is_link_local_multicast", "IP.isLinkLocalMulticast() -> bool", _is_link_local_multicast)
_add("ip_is_link_local_unicast", "IP.isLinkLocalUnicast() -> bool", _is_link_local)
_add("ip_is_global_unicast", "IP.isGlobalUnicast() -> bool", _is_global_unicast)

_add("string_to_cidr", "cidr(string) -> CIDR", _cidr, member=False)
_add("is_cidr", "isCIDR(string) -> bool", _is(_cidr), member=False)
_add("cidr_to_string", "string(CIDR) -> string", str, member=False)
_add("cidr_contains_ip_string", "CIDR.containsIP(string) -> bool", _contains_ip_text)
_add("cidr_contains_ip_ip", "CIDR.containsIP(IP) -> bool", _contains_ip)
_add(
    "cidr_contains_cidr_string",
    "CIDR.containsCIDR(string) -> bool",
    lambda cidr, text: _contains_cidr(cidr, _cidr(text)),
)
_add("cidr_contains_cidr", "CIDR.containsCIDR(CIDR) -> bool", _contains_cidr)
_add("cidr_ip", "CIDR.ip() -> IP", lambda cidr: IPValue(cidr.network.ip))
_add("cidr_prefix_length", "CIDR.prefixLength() -> int", lambda cidr: cidr.network.network.prefixlen)
_add("cidr_masked", "CIDR.masked() -> CIDR", _masked)
