"""Calls: what a client asks of its API server, as the server's authorizer sees it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from kapstan.client import Client
from kapstan.client.stream import Stream
from kapstan.client.transport import Request, Response

__all__ = ("Call", "call_of", "record")

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Call(NamedTuple):
    """A request: a verb, and what it is about. `resource` is `pods` or `pods/log`."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{where}"


def record(client: Client) -> list[Call]:
    """Note every call of a client, of its views and of clients that share its connection, from now on."""
    calls: list[Call] = []
    transport = client.transport
    send, open_ = transport.send, transport.open

    def note(request: Request, status: int) -> None:
        call = call_of(request.method, request.path)
        if call is None:
            return
        calls.append(call)
        if call.verb == "patch" and status == 201:  # who applies what is not there creates it, and must be allowed to
            calls.append(call._replace(verb="create"))

    async def recorded_send(request: Request) -> Response:
        try:
            response = await send(request)
        except BaseException:
            note(request, 0)
            raise
        note(request, response.status)
        return response

    async def recorded_open(request: Request) -> Stream:
        note(request, 0)
        return await open_(request)

    vars(transport).update(send=recorded_send, open=recorded_open)
    return calls


def call_of(method: str, path: str) -> Call | None:
    """What a request is about; None if it only asks which APIs there are."""
    url = urlsplit(path)
    parts = [unquote(part) for part in url.path.split("/") if part]
    prefix = 2 if parts[:1] == ["api"] else 3
    group = parts[1] if prefix == 3 and len(parts) > 1 else ""
    rest = parts[prefix:]
    if parts[:1] not in (["api"], ["apis"]) or not rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    name, subresource = [*rest, "", ""][1:3]
    resource = f"{rest[0]}/{subresource}" if subresource else rest[0]
    query = parse_qs(url.query)
    return Call(_verb(method, name, query), group, resource, namespace, name or _selected_name(query))


def _verb(method: str, name: str, query: dict[str, list[str]]) -> str:
    if method == "DELETE" and not name:
        return "deletecollection"
    if method in _VERBS:
        return _VERBS[method]
    if query.get("watch", ["false"])[0] in ("true", "1"):
        return "watch"
    return "get" if name else "list"


def _selected_name(query: dict[str, list[str]]) -> str:
    """A list or watch of a single name is authorized as that of one object."""
    (selector,) = query.get("fieldSelector", [""])
    field, _, value = selector.partition("=")
    return value.lstrip("=") if field == "metadata.name" and "," not in value else ""
