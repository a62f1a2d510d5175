"""Addresses and ranges of addresses, as strict as Kubernetes is about new ones.

Other programs read leading zeros as octal numbers and IPv4 within IPv6 as either, so both are refused; a value that an
object had before is let through.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from kapstan.apiserver.strategy.validation.common import Rules
from kapstan.machinery.golang import quote
from kapstan.machinery.validation import FieldError, Path

__all__ = ("Address", "Network", "canonical_cidr", "canonical_ip", "cidr", "ip_address", "parse_cidr", "parse_ip")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LEADING_ZEROS = re.compile("(?<![0-9])0+(?=[0-9])")


def parse_ip(text: str) -> Address | None:
    """An address as older clients may write it: leading zeros are ignored, IPv4 within IPv6 is IPv4."""
    try:
        if ":" not in text:
            return ipaddress.IPv4Address(_LEADING_ZEROS.sub("", text))
        found = ipaddress.IPv6Address(text) if "%" not in text else None
        return found.ipv4_mapped or found if found else None
    except ValueError:
        return None


def parse_cidr(text: str) -> Network | None:
    """A range as older clients may write it: what is beyond the prefix is ignored."""
    address, slash, bits = text.partition("/")
    found = parse_ip(address)
    if found is None or not slash or not (bits.isdecimal() and bits.isascii()):
        return None
    length = int(bits)
    if found.version == 4 and ":" in address:
        length -= 96
    if not 0 <= length <= found.max_prefixlen:
        return None
    return ipaddress.ip_network(f"{found}/{length}", strict=False)


def ip_address(text: str, path: Path, known: Collection[str] = ()) -> Rules:
    if text in known:
        return
    if parse_ip(text) is None:
        yield FieldError.invalid(path, text, _IP)
    elif ":" not in text and _LEADING_ZEROS.search(text):
        yield FieldError.invalid(path, text, "must not have leading 0s")
    elif _is_mapped(text):
        yield FieldError.invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def _is_mapped(text: str) -> bool:
    return ":" in text and ipaddress.IPv6Address(text).ipv4_mapped is not None


def canonical_ip(text: str, path: Path) -> Rules:
    """An address in the one form that everybody writes alike."""
    wrong = list(ip_address(text, path))
    found = parse_ip(text)
    if not wrong and str(found) != text:
        wrong.append(FieldError.invalid(path, text, f"must be in canonical form ({quote(str(found))})"))
    yield from wrong


def cidr(text: str, path: Path, known: Collection[str] = ()) -> Rules:
    if text in known:
        return
    found, (address, _, bits) = parse_cidr(text), text.partition("/")
    if found is None:
        yield FieldError.invalid(path, text, _CIDR)
    elif (":" not in address and _LEADING_ZEROS.search(address)) or (bits.startswith("0") and bits != "0"):
        yield FieldError.invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif _is_mapped(address):
        yield FieldError.invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif found.network_address != parse_ip(address):
        yield FieldError.invalid(path, text, "must not have bits set beyond the prefix length")


def canonical_cidr(text: str, path: Path) -> Rules:
    wrong = list(cidr(text, path))
    found = parse_cidr(text)
    if not wrong and str(found) != text:
        wrong.append(FieldError.invalid(path, text, f"must be in canonical form ({quote(str(found))})"))
    yield from wrong
