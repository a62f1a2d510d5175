"""Advertise: the address at which pods are told to find the server. It need not be one at which it listens."""

from __future__ import annotations

import ipaddress
import socket

from kapstan.machinery.errors import ConfigError

__all__ = ("advertised",)

# Where a route is looked up, from addresses for documentation. Nothing is sent.
_ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def advertised(host: str, wanted: str = "") -> str:
    """What is wanted, or what kube-apiserver advertises when it is bound to an address.

    The address itself; instead of one of this machine alone, that of the interface which leads elsewhere. "" if there
    is no such interface.
    """
    if wanted:
        return _checked(wanted)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if not (address.is_loopback or address.is_unspecified):
        return host
    return next((found for family, there in _ELSEWHERE if (found := _interface(family, there))), "")


def _checked(wanted: str) -> str:
    try:
        address = ipaddress.ip_address(wanted)
    except ValueError:
        raise ConfigError(f"{wanted!r} cannot be advertised, it is no IP address") from None
    if address.is_loopback or address.is_unspecified or address.is_link_local:
        raise ConfigError(f"{wanted} cannot be advertised: nobody else finds this machine there")
    return wanted


def _interface(family: socket.AddressFamily, there: str) -> str:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((there, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return ""
