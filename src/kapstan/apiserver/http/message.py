"""HTTP messages without an HTTP server: what handlers get and what they give back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from urllib.parse import parse_qs

import msgspec

from kapstan.apiserver.http.wire import Headers
from kapstan.apiserver.registry.watch import Watch
from kapstan.machinery.codec import encode
from kapstan.machinery.errors import APIError

__all__ = ("HTTPRequest", "Response", "WatchResponse", "error_response", "text_response")

JSON = "application/json"


class HTTPRequest:
    """One request. `read` returns the body and refuses one above the limit."""

    def __init__(
        self,
        method: str,
        path: str,
        query_string: str,
        headers: Headers,
        read: Callable[[int], Awaitable[bytes]],
        certificate: bytes | None = None,
        remote: str = "",
    ) -> None:
        self.method = method
        self.path = path  # percent-decoded
        self.query_string = query_string
        self.headers = headers
        self.read = read
        self.certificate = certificate  # the client's, DER, verified against the cluster's CA
        self.remote = remote

    @cached_property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.query_string, keep_blank_values=True) if self.query_string else {}

    def header(self, name: str) -> str:
        return self.headers.get(name)


class Response(msgspec.Struct):
    """A whole answer."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: dict[str, str] = {}
    warnings: list[str] = []


class WatchResponse(msgspec.Struct):
    """An answer that goes on: the front sends the head, then lets the watch write."""

    watch: Watch
    content_type: str = JSON
    warnings: list[str] = []


def error_response(error: APIError, warnings: Sequence[str] = ()) -> Response:
    """A Status, letter by letter as Go writes it; clients are warned of what may have led to it."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    return Response(error.status.code, encode(error.status) + b"\n", headers=headers, warnings=list(warnings))


def text_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return Response(status, text.encode(), "text/plain; charset=utf-8", headers or {})
