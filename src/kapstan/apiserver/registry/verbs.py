"""The verbs of the API, from decoded bodies to outcomes: what the HTTP front and the in-process API both call.

Each checks what the kind serves, shapes the body by the kind's schema and goes to the endpoint that answers: the stored
object, a subresource of it, or a handler where nothing is stored.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kapstan.apiserver.kinds import Handler
from kapstan.apiserver.registry import create as creating
from kapstan.apiserver.registry import delete as deleting
from kapstan.apiserver.registry import patch as patching
from kapstan.apiserver.registry import read as reading
from kapstan.apiserver.registry import update as updating
from kapstan.apiserver.registry import watch as watching
from kapstan.apiserver.registry.accepting import accepted, accepted_below
from kapstan.apiserver.registry.errors import method_not_supported
from kapstan.apiserver.registry.objects import encode
from kapstan.apiserver.registry.outcome import Listed, Outcome
from kapstan.apiserver.registry.representation import Representation
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.request import DeleteOptions, ListOptions, Request
from kapstan.machinery.errors import NotFound

__all__ = ("create", "delete", "delete_collection", "get", "list_objects", "patch", "update", "watch")

Object = dict[str, Any]


async def get(request: Request, resource_version: str = "") -> Outcome:
    _check(request, "get")
    if (scale := _scale(request)) is not None:
        return await scale.get(request)
    handler = _handler(request)
    if handler is not None:
        return Outcome(encode(await handler(request, None)), plain=True)
    return await reading.get(request, resource_version)


async def list_objects(request: Request, options: ListOptions) -> Listed:
    _check(request, "list")
    return await reading.list_objects(request, options)


def watch(request: Request, options: ListOptions, representation: Representation) -> watching.Watch:
    _check(request, "watch")
    return watching.watch(request, options, representation)


async def create(request: Request, body: Any, complaints: list[str] | None = None) -> Outcome:
    """`complaints` are what a strict decoder had against the body, such as duplicate fields."""
    _check(request, "create")
    handler = _handler(request)
    if handler is not None:
        return await _handled(request, handler, body, complaints)
    return await creating.create(request, accepted(request, body, complaints or []))


async def update(request: Request, body: Any, complaints: list[str] | None = None) -> Outcome:
    _check(request, "update")
    if (scale := _scale(request)) is not None:
        return await scale.update(request, body)
    handler = _handler(request)
    if handler is not None:
        return msgspec.structs.replace(await _handled(request, handler, body, complaints), created=False)
    return await updating.replace(request, accepted(request, body, complaints or []))


async def patch(
    request: Request, patch_type: patching.PatchType, body: Any, complaints: list[str] | None = None
) -> Outcome:
    _check(request, "patch")
    if (scale := _scale(request)) is not None:
        return await scale.patch(request, patch_type, body)
    return await patching.patch(request, patch_type, body, complaints or [])


async def delete(request: Request) -> Outcome:
    _check(request, "delete")
    return await deleting.delete(request)


async def delete_collection(request: Request, options: ListOptions) -> Listed:
    """Delete what a list would show, one by one; what is gone already is no error."""
    _check(request, "deletecollection")
    listed = await reading.list_objects(request, options)
    for value in listed.values:
        metadata = msgspec.json.decode(value)["metadata"]
        one = _for_object(request, metadata)
        try:
            await deleting.delete(one)
        except NotFound:
            continue
        for text in one.warnings:
            request.warn(text)
    return listed


def _for_object(request: Request, metadata: Object) -> Request:
    options = request.options
    assert isinstance(options, DeleteOptions)
    return Request(
        request.cluster,
        request.user,
        request.verb,
        request.kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        options=options,
        user_agent=request.user_agent,
        path=request.path,
        now=request.now,
    )


def _check(request: Request, verb: str) -> None:
    kind = request.kind
    if request.subresource:
        found = kind.subresources[request.subresource]
        if not (found.strategy or found.scale or found.handler):
            what = f"{kind.gvr.resource}/{request.subresource}"
            raise NotFound(f"{what} is not served: it needs nodes, and there are none behind this server")
        if verb in found.verbs:
            return
    elif verb in kind.verbs:
        return
    raise method_not_supported(kind.gvr.group_resource, verb)


def _scale(request: Request) -> ScaleEndpoint | None:
    if not request.subresource:
        return None
    found: ScaleEndpoint | None = request.kind.subresources[request.subresource].scale
    return found


def _handler(request: Request) -> Handler | None:
    if request.subresource:
        found: Handler | None = request.kind.subresources[request.subresource].handler
        return found
    return request.kind.handler


async def _handled(request: Request, handler: Handler, body: Any, complaints: list[str] | None) -> Outcome:
    if request.subresource:
        obj = accepted_below(request, body)
    else:
        obj = accepted(request, body, complaints or [])
    answer = await handler(request, obj)
    return Outcome(encode(answer), created=True, plain=True)
