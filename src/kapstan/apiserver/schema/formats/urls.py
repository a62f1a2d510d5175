"""URLs as Go's `net/url` reads them, which decides the format `uri` and CEL's `url()`."""

from __future__ import annotations

import ipaddress
import re

from kapstan.apiserver.schema.formats.addresses import parse_address
from kapstan.machinery.golang import quote

__all__ = ("URL", "InvalidURL", "is_uri", "parse_request_uri", "parse_url")

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PLAIN_IN_PATH = _UNRESERVED | frozenset(b"$&+,/:;=@")
_PLAIN_IN_HOST = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_PORT = re.compile(r"(:[0-9]*)?")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class InvalidURL(ValueError):
    """The text is no URL; the message is Go's."""


class URL:
    """The parts of a URL."""

    __slots__ = ("host", "opaque", "path", "query", "raw_path", "scheme", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.scheme = ""
        self.opaque = ""
        self.host = ""  # with the port
        self.path = ""  # decoded
        self.raw_path = ""  # as written
        self.query = ""  # as written

    @property
    def hostname(self) -> str:
        host, _ = self._split_host()
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        return self._split_host()[1]

    @property
    def escaped_path(self) -> str:
        """The path as written where that is a valid encoding of it, else encoded anew."""
        sub_delimiters = b"!$&'()*+,;=:@[]%"
        if all(byte in _PLAIN_IN_PATH or byte in sub_delimiters for byte in self.raw_path.encode()):
            return self.raw_path
        return "*" if self.path == "*" else _escape(self.path, _PLAIN_IN_PATH)

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The decoded query; what cannot be decoded is left out."""
        found: dict[str, list[str]] = {}
        for setting in self.query.split("&"):
            if not setting or ";" in setting:
                continue
            key, _, value = setting.replace("+", " ").partition("=")
            try:
                found.setdefault(_unescape(key), []).append(_unescape(value))
            except InvalidURL:
                continue
        return found

    def _split_host(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        return (host, port) if colon and _PORT.fullmatch(":" + port) else (self.host, "")

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse_request_uri(text: str) -> URL:
    """`url.ParseRequestURI`: an absolute URL or an absolute path."""
    try:
        return _parse(text, via_request=True)
    except InvalidURL as error:
        raise InvalidURL(f"parse {quote(text)}: {error}") from None


def parse_url(text: str) -> URL:
    """`url.Parse`: any URL; the fragment is cut off."""
    body = text.partition("#")[0]
    try:
        url = _parse(body, via_request=False)
    except InvalidURL as error:
        raise InvalidURL(f"parse {quote(body)}: {error}") from None
    url.text = text
    return url


def is_uri(text: str) -> bool:
    """The format `uri`."""
    try:
        parse_request_uri(text)
    except InvalidURL:
        return False
    return True


def _parse(text: str, *, via_request: bool) -> URL:
    if _CONTROL.search(text):
        raise InvalidURL("net/url: invalid control character in URL")
    if not text and via_request:
        raise InvalidURL("empty url")
    url = URL(text)
    if text == "*":
        url.path = url.raw_path = "*"
        return url
    if text.startswith(":"):
        raise InvalidURL("missing protocol scheme")
    rest = text
    if scheme := _SCHEME.match(text):
        url.scheme, rest = scheme[1].lower(), text[scheme.end() :]
    rest, _, url.query = rest.partition("?")
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise InvalidURL("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise InvalidURL("first path segment in URL cannot contain colon")
    has_authority = bool(url.scheme) or (not via_request and not rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        url.host = _parse_authority(authority, url.scheme)
    url.path, url.raw_path = _unescape(rest), rest
    return url


def _parse_authority(authority: str, scheme: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    host = _parse_host(host, scheme)
    if at:
        if not _USERINFO.fullmatch(userinfo):
            raise InvalidURL("net/url: invalid userinfo")
        _unescape(userinfo)
    return host


def _parse_host(host: str, scheme: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise InvalidURL("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        # Only http is strict about a second colon; database URLs list several hosts.
        port = host[first:] if scheme in ("http", "https") else host[last:]
        if not _PORT.fullmatch(port):
            raise InvalidURL(f"invalid port {quote(port)} after host")
    return _unescape_host(host)


def _parse_ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise InvalidURL("missing ']' in host")
    port = host[end + 1 :]
    if not _PORT.fullmatch(port):
        raise InvalidURL(f"invalid port {quote(port)} after host")
    name, zone_mark, zone = host[1:end].partition("%25")
    address = _unescape_host(name) + (f"%{_unescape(zone)}" if zone_mark else "")
    try:
        parsed = parse_address(address)
    except ValueError as error:
        raise InvalidURL(f"invalid host: {error}") from None
    if isinstance(parsed, ipaddress.IPv4Address):
        raise InvalidURL("invalid IP-literal")
    return f"[{address}]{port}"


def _unescape_host(text: str) -> str:
    """A host may be written with escapes of non-ASCII bytes only."""
    for position, char in enumerate(text):
        if char == "%":
            escape = text[position : position + 3]
            if not re.fullmatch("%[0-9A-Fa-f]{2}", escape) or (int(escape[1], 16) < 8 and escape != "%25"):
                raise InvalidURL(f"invalid URL escape {quote(escape)}")
        elif char.isascii() and ord(char) not in _PLAIN_IN_HOST:
            raise InvalidURL(f"invalid character {quote(char)} in host name")
    return _unescape(text)


def _unescape(text: str) -> str:
    if "%" not in text:
        return text
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            raise InvalidURL(f"invalid URL escape {quote(text[match.start() : match.start() + 3])}")
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes.fromhex(match[1].decode()), text.encode())
    return raw.decode(errors="replace")


def _escape(text: str, plain: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in text.encode())
