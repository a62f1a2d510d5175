"""HTTP/1.1 on the wire: reading request heads and chunked bodies, writing response heads. Pure functions of bytes.

What is not clearly one request is refused rather than guessed at: a server that is too kind disagrees with whatever is
in front of it about where a request ends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import unquote

__all__ = ("BadHead", "ChunkedBody", "Head", "Headers", "parse_head", "response_head")

MAX_HEAD = 256 * 1024

_REQUEST_LINE = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP/1\.([01])")
_HEADER = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class BadHead(ValueError):
    """Not a request; the status says in which way."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class Headers:
    """The headers of a request: found by name in any case, the first of several."""

    __slots__ = ("_first", "_pairs")

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._first: dict[str, str] = {}
        for name, value in pairs:
            self._first.setdefault(name.lower(), value)

    def get(self, name: str, default: str = "") -> str:
        return self._first.get(name.lower(), default)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._first

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def items(self) -> list[tuple[str, str]]:
        """All of them, in the order in which they came."""
        return self._pairs


class Head:
    """The head of a request."""

    __slots__ = ("chunked", "headers", "keep_alive", "length", "method", "path", "query", "target")

    def __init__(self, method: str, target: str, headers: Headers, *, keep_alive: bool) -> None:
        self.method = method
        self.target = target  # as it was sent
        path, _, self.query = target.partition("?")
        self.path = unquote(path) if "%" in path else path
        self.headers = headers
        self.keep_alive = keep_alive
        self.chunked = False
        self.length = 0


def parse_head(data: bytes) -> Head:
    """Read a head, without the empty line that ends it."""
    first, *lines = data.decode("latin-1").split("\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise BadHead("the request line is malformed")
    method, target, minor = match.groups()
    if target[0] != "/":
        target = _origin_form(target)
    headers = Headers([_header(line) for line in lines])
    connection = headers.get("Connection").lower()
    keep_alive = "close" not in connection if minor == "1" else "keep-alive" in connection
    head = Head(method, target, headers, keep_alive=keep_alive)
    _read_framing(head, minor)
    return head


def _origin_form(target: str) -> str:
    """`http://host/path` is allowed, if unusual."""
    scheme, found, rest = target.partition("://")
    if not found or scheme not in ("http", "https"):
        raise BadHead("the request target is malformed")
    return "/" + rest.partition("/")[2]


def _header(line: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(line)
    if match is None:
        raise BadHead("a header is malformed")
    return match[1], match[2].rstrip(" \t")


def _read_framing(head: Head, minor: str) -> None:
    """How the body ends. Both ways at once, or several lengths, are how requests are smuggled."""
    lengths = {value for name, value in head.headers.items() if name.lower() == "content-length"}
    coding = head.headers.get("Transfer-Encoding").lower()
    if coding:
        if coding != "chunked" or minor == "0":
            raise BadHead("the transfer encoding is not supported", 501)
        if lengths:
            raise BadHead("a request has a length or is chunked, not both")
        head.chunked = True
    elif lengths:
        (length, *others) = lengths
        if others or not (length.isascii() and length.isdigit()) or len(length) > 18:
            raise BadHead("the content length is malformed")
        head.length = int(length)


class ChunkedBody:
    """Reads a chunked body as it comes."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._left = 0  # of the chunk under way, its line end included
        self._trailer = False

    def feed(self, buffer: bytearray, limit: int) -> bytes | None:
        """Take what there is from the buffer; the body when it is complete. BadHead if it is malformed or too large."""
        while buffer:
            if self._left:
                if not self._take_chunk(buffer):
                    return None
                continue
            line = _line(buffer)
            if line is None:
                return None
            if self._trailer:
                if not line:
                    return bytes(self._data)
                continue
            size = _chunk_size(line)
            self._trailer = size == 0
            self._left = size + 2 if size else 0
            if len(self._data) + size > limit:
                raise BadHead("the body is too large", 413)
        return None

    def _take_chunk(self, buffer: bytearray) -> bool:
        content = max(0, self._left - 2)
        taken = buffer[:content]
        self._data += taken
        del buffer[: len(taken)]
        self._left -= len(taken)
        if self._left > 2 or len(buffer) < self._left:
            return False
        if buffer[: self._left] != b"\r\n"[2 - self._left :]:
            raise BadHead("a chunk does not end where it should")
        del buffer[: self._left]
        self._left = 0
        return True


def _line(buffer: bytearray) -> bytes | None:
    """The next line, taken from the buffer."""
    end = buffer.find(b"\r\n", 0, 4096)
    if end < 0:
        if len(buffer) > 4096:
            raise BadHead("a line of a chunked body is too long")
        return None
    line = bytes(buffer[:end])
    del buffer[: end + 2]
    return line


def _chunk_size(line: bytes) -> int:
    match = _CHUNK_SIZE.fullmatch(line)
    if match is None:
        raise BadHead("the size of a chunk is malformed")
    return int(match[1], 16)


_date = (0, "")


def response_head(status: int, headers: Iterable[tuple[str, str]], *, keep_alive: bool) -> bytes:
    """The head of a response, the empty line included."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}", f"Date: {_now()}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if not keep_alive:
        lines.append("Connection: close")
    lines.append("\r\n")
    return "\r\n".join(lines).encode("utf-8")


def _now() -> str:
    """The date, made once a second."""
    global _date
    second = int(time.time())
    if _date[0] != second:
        _date = (second, formatdate(second, usegmt=True))
    return _date[1]
