"""Network addresses as Go reads them: strictly (`netip.ParseAddr`) and with leading zeros (Kubernetes' old data)."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

from kapstan.machinery.golang import quote

__all__ = (
    "Address",
    "Network",
    "is_cidr",
    "is_ipv4",
    "is_ipv6",
    "is_mac",
    "parse_address",
    "parse_network",
)

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_SLOPPY_V4 = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)")
_V4_TAIL = re.compile(r"(.*:)([0-9]+\.[0-9.]*)", re.DOTALL)
_MAC = re.compile(
    r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?:(?:\1[0-9A-Fa-f]{2}){2}(?:(?:\1[0-9A-Fa-f]{2}){12})?)?"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?:\.[0-9A-Fa-f]{4}(?:(?:\.[0-9A-Fa-f]{4}){6})?)?"
)
_BITS = re.compile(r"0|[1-9][0-9]*")


def parse_address(text: str) -> Address:
    """`netip.ParseAddr`; ValueError with Go's words. Zones are kept."""
    separator = next((char for char in text if char in ".:%"), "")
    if separator == ".":
        return _parse_v4(text, text)
    if separator == ":":
        return _parse_v6(text)
    raise _bad_address(text, "missing IPv6 address" if separator else "unable to parse IP")


def _bad_address(text: str, problem: str, at: str = "") -> ValueError:
    tail = f" (at {quote(at)})" if at else ""
    return ValueError(f"ParseAddr({quote(text)}): {problem}{tail}")


def _parse_v4(text: str, whole: str) -> ipaddress.IPv4Address:
    value, fields, digits, position = 0, 0, 0, 0
    octets: list[int] = []
    for position, char in enumerate(text):
        if char in "0123456789":
            if digits == 1 and value == 0:
                raise _bad_address(whole, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _bad_address(whole, "IPv4 field has value >255")
        elif char == ".":
            if position == 0 or position == len(text) - 1 or text[position - 1] == ".":
                raise _bad_address(whole, "IPv4 field must have at least one digit", text[position:])
            if fields == 3:
                raise _bad_address(whole, "IPv4 address too long")
            octets.append(value)
            value, digits, fields = 0, 0, fields + 1
        else:
            raise _bad_address(whole, "unexpected character", text[position:])
    if fields < 3:
        raise _bad_address(whole, "IPv4 address too short")
    return ipaddress.IPv4Address(bytes([*octets, value]))


def _parse_v6(text: str) -> ipaddress.IPv6Address:
    body, percent, zone = text.partition("%")
    if percent and not zone:
        raise _bad_address(text, "zone must be a non-empty string")
    if tail := _V4_TAIL.fullmatch(body):
        _parse_v4(tail[2], text)
    try:
        return ipaddress.IPv6Address(f"{body}%{zone}" if percent else body)
    except ValueError:
        raise _bad_address(text, *_v6_problem(body)) from None


def _v6_problem(body: str) -> tuple[str, str]:
    """Go's complaint about an IPv6 address that is none, and the rest of the text where it noticed."""
    rest, groups, ellipsis = body, 0, body.startswith("::")
    rest = rest[2:] if ellipsis else rest
    while groups < 8:
        hex_digits = re.match(r"[0-9A-Fa-f]*", rest)
        count = len(hex_digits[0]) if hex_digits else 0
        if count > 4:
            return "each group must have 4 or less digits", rest
        if count == 0:
            return "each colon-separated field must have at least one digit", rest
        groups, after = groups + 1, rest[count:]
        if not after:
            rest = ""
            break
        if after[0] != ":":
            return "unexpected character, want colon", after
        if len(after) == 1:
            return "colon must be followed by more characters", after
        rest = after[1:]
        if rest[0] == ":":
            if ellipsis:
                return "multiple :: in address", rest
            ellipsis, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return "trailing garbage after address", rest
    return ("the :: must expand to at least one field of zeros", "") if ellipsis else ("address string too short", "")


def parse_network(text: str) -> Network:
    """`netip.ParsePrefix`; ValueError with Go's words. The address keeps its host bits."""
    address_text, slash, bits = text.rpartition("/")
    if not slash:
        raise ValueError(f"netip.ParsePrefix({quote(text)}): no '/'")
    try:
        address = parse_address(address_text)
    except ValueError as error:
        raise ValueError(f"netip.ParsePrefix({quote(text)}): {error}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        raise ValueError(f"netip.ParsePrefix({quote(text)}): IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise ValueError(f"netip.ParsePrefix({quote(text)}): bad bits after slash: {quote(bits)}")
    if len(bits) > 3 or int(bits) > address.max_prefixlen:
        raise ValueError(f"netip.ParsePrefix({quote(text)}): prefix length out of range")
    if isinstance(address, ipaddress.IPv4Address):
        return ipaddress.IPv4Interface((address, int(bits)))
    return ipaddress.IPv6Interface((address, int(bits)))


def is_ipv4(text: str) -> bool:
    """The format `ipv4`: an address with dots, which includes IPv4 inside of IPv6."""
    return "." in text and _is_sloppy_address(text)


def is_ipv6(text: str) -> bool:
    """The format `ipv6`: an address with colons."""
    try:
        return ":" in text and "%" not in text and bool(parse_address(text))
    except ValueError:
        return False


def is_cidr(text: str) -> bool:
    """The format `cidr`: an address, a slash and a number of bits."""
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch("[0-9]{1,7}", bits):
        return False
    return (_is_sloppy_v4(address) and int(bits) <= 32) or (_is_sloppy_v6(address) and int(bits) <= 128)


def _is_sloppy_address(text: str) -> bool:
    separator = next((char for char in text if char in ".:"), "")
    return _is_sloppy_v4(text) if separator == "." else _is_sloppy_v6(text)


def _is_sloppy_v4(text: str) -> bool:
    match = _SLOPPY_V4.fullmatch(text)
    return match is not None and all(len(octet.lstrip("0")) < 4 and int(octet) <= 255 for octet in match.groups())


def _is_sloppy_v6(text: str) -> bool:
    if tail := _V4_TAIL.fullmatch(text):
        if not _is_sloppy_v4(tail[2]):
            return False
        text = tail[1] + "1.1.1.1"
    # Old Go also read groups with leading zeros beyond four digits.
    shortened = re.sub(r"(?<![0-9A-Fa-f])0+(?=[0-9A-Fa-f]{1,4}(?![0-9A-Fa-f]))", "", text)
    try:
        return "%" not in text and bool(ipaddress.IPv6Address(shortened))
    except ValueError:
        return False


def is_mac(text: str) -> bool:
    """The format `mac`: 6, 8 or 20 bytes, with colons, dashes or dots."""
    return _MAC.fullmatch(text) is not None
