"""Resource requests: from a route to the registry's verb, and from its outcome to a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kapstan.apiserver.cluster import LogicalCluster
from kapstan.apiserver.http.body import MAX_BODY, decode_object, decode_patch, media_type
from kapstan.apiserver.http.message import HTTPRequest, Response, WatchResponse
from kapstan.apiserver.http.negotiation import Accepted, negotiate, refusal, rendered
from kapstan.apiserver.http.options import delete_options, list_options, patch_options, text, write_options
from kapstan.apiserver.http.routing import Route
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.patch import patch_types
from kapstan.apiserver.registry.strictness import wants_strict
from kapstan.apiserver.request import DeleteOptions, Request, UserInfo, WriteOptions
from kapstan.machinery.errors import APIError, UnsupportedMediaType
from kapstan.machinery.meta import StatusDetails

__all__ = ("serve_resource",)

_APPLY = "application/apply-patch+yaml"


class _Call:
    """One resource request under way."""

    def __init__(self, cluster: LogicalCluster, http: HTTPRequest, route: Route, user: UserInfo, kind: ServedKind):
        self.cluster = cluster
        self.http = http
        self.route = route
        self.user = user
        self.kind = kind
        self.warnings: list[str] = []  # for the client, whatever becomes of its request

    def request(self, options: WriteOptions | DeleteOptions | None = None) -> Request:
        route, kind = self.route, self.kind
        name = route.name if route.name_in_path or route.verb == "watch" else ""
        request = Request(
            self.cluster,
            self.user,
            route.verb,
            kind,
            namespace=route.namespace if kind.namespaced else "",
            name=name,
            subresource=route.subresource,
            options=options,
            user_agent=self.http.header("User-Agent"),
            path=route.path,
        )
        self.warnings = request.warnings
        if kind.deprecation:
            request.warn(kind.deprecation)
        return request

    def accepted(self, *, is_list: bool = False, watch: bool = False) -> Accepted:
        return negotiate(self.http, self.kind, is_list=is_list, watch=watch)

    def answer(self, request: Request, accepted: Accepted, outcome: Outcome, status: int = 200) -> Response:
        value = outcome.value
        if not outcome.plain:
            value = accepted.representation.object(self.kind, value)
        return Response(status, rendered(value, accepted), accepted.content_type, warnings=request.warnings)


async def serve_resource(
    cluster: LogicalCluster, http: HTTPRequest, route: Route, user: UserInfo, kind: ServedKind
) -> Response | WatchResponse:
    """Answer a request that has been authorized."""
    call = _Call(cluster, http, route, user, kind)
    try:
        return await _VERBS[route.verb](call)
    except APIError as error:
        return refusal(http, error, call.warnings)


async def _get(call: _Call) -> Response:
    accepted = call.accepted()
    request = call.request()
    outcome = await verbs.get(request, text(call.http.query, "resourceVersion"))
    return call.answer(request, accepted, outcome)


async def _list(call: _Call) -> Response:
    accepted = call.accepted(is_list=True)
    request = call.request()
    listed = await verbs.list_objects(request, list_options(call.http.query))
    body = rendered(accepted.representation.list(call.kind, listed), accepted)
    return Response(200, body, accepted.content_type, warnings=request.warnings)


async def _watch(call: _Call) -> WatchResponse:
    accepted = call.accepted(is_list=True, watch=True)
    request = call.request()
    watch = verbs.watch(request, list_options(call.http.query, watch=True), accepted.representation)
    return WatchResponse(watch, accepted.content_type, request.warnings)


async def _create(call: _Call) -> Response:
    accepted = call.accepted()
    request = call.request(write_options(call.http.query, "CreateOptions"))
    outcome = await verbs.create(request, *await _body(call, request))
    return call.answer(request, accepted, outcome, 201)


async def _update(call: _Call) -> Response:
    accepted = call.accepted()
    request = call.request(write_options(call.http.query, "UpdateOptions"))
    outcome = await verbs.update(request, *await _body(call, request))
    return call.answer(request, accepted, outcome, 201 if outcome.created else 200)


async def _body(call: _Call, request: Request) -> tuple[Any, list[str]]:
    options = request.options
    assert isinstance(options, WriteOptions)
    data = await call.http.read(MAX_BODY)
    return decode_object(data, media_type(call.http), call.kind, strict=wants_strict(options.field_validation))


async def _patch(call: _Call) -> Response:
    type = media_type(call.http)
    known = patch_types(call.kind.custom)
    if type not in known:
        if not call.kind.custom:
            raise UnsupportedMediaType("415: Unsupported Media Type", details=StatusDetails())
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
        )
    accepted = call.accepted()
    data = await call.http.read(MAX_BODY)
    request = call.request(patch_options(call.http.query, apply=type == _APPLY))
    body, complaints = _decode_patch(data, type, request)
    outcome = await verbs.patch(request, type, body, complaints)
    return call.answer(request, accepted, outcome, 201 if outcome.created else 200)


def _decode_patch(data: bytes, type: str, request: Request) -> tuple[Any, list[str]]:
    options = request.options
    assert isinstance(options, WriteOptions)
    strict = wants_strict(options.field_validation)
    if type == _APPLY:
        return decode_object(data, "application/yaml", request.kind, strict=strict)
    return decode_patch(data, type=type, strict=strict)


async def _delete(call: _Call) -> Response:
    accepted = call.accepted()
    options = await _delete_options(call)
    request = call.request(options)
    outcome = await verbs.delete(request)
    status = 202 if not outcome.deleted and options.orphan_dependents is False else 200
    return call.answer(request, accepted, outcome, status)


async def _delete_collection(call: _Call) -> Response:
    accepted = call.accepted(is_list=True)
    listing = list_options(call.http.query)
    request = call.request(await _delete_options(call))
    listed = await verbs.delete_collection(request, listing)
    body = rendered(accepted.representation.list(call.kind, listed), accepted)
    return Response(200, body, accepted.content_type, warnings=request.warnings)


async def _delete_options(call: _Call) -> DeleteOptions:
    data = await call.http.read(MAX_BODY)
    body = None
    if data:
        body, _ = decode_object(data, media_type(call.http), None, strict=False)
    return delete_options(call.http.query, body)


_VERBS: dict[str, Callable[[_Call], Awaitable[Response | WatchResponse]]] = {
    "get": _get,
    "list": _list,
    "watch": _watch,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_collection,
}
