"""Session: what the reader and the writer share: the connection, where kinds are served, the defaults of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from kapstan.client.discovery import Discovery
from kapstan.client.errors import NoKindMatch, UnexpectedAnswer
from kapstan.client.interface import Kind, MetadataOf, Object, PartialObjectMetadata, gvk_of
from kapstan.client.mapping import Mapping
from kapstan.client.options import WriteOptions
from kapstan.client.stream import Stream
from kapstan.client.transport import Request, Response, Transport
from kapstan.machinery.errors import BadRequest, NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import SCHEME

__all__ = ("Session", "described")

T = TypeVar("T")


class Session:
    """A connection with options. Views with other options share the connection."""

    def __init__(
        self, transport: Transport, discovery: Discovery, *, options: WriteOptions, namespace: str = ""
    ) -> None:
        self.transport = transport
        self.discovery = discovery
        self.options = options
        self.namespace = namespace  # if set, the only one

    async def mapping(self, kind: Kind[Any]) -> Mapping:
        """Where a kind is served. What a class says is believed; other kinds are looked up."""
        if isinstance(kind, type):
            return Mapping.of(kind)
        gvk = kind.gvk if isinstance(kind, MetadataOf) else kind
        known = SCHEME.find(gvk)
        return Mapping.of(known) if known is not None else await self.discovery.mapping(gvk)

    async def mapping_of(self, obj: Object) -> Mapping:
        """Where an object's kind is served."""
        if isinstance(obj, Resource) and not isinstance(obj, PartialObjectMetadata):
            return Mapping.of(type(obj))
        return await self.mapping(gvk_of(obj))

    def scope(self, mapping: Mapping, namespace: str, *, what: str) -> str:
        """The namespace to use, within the one that this view is bound to."""
        if not mapping.namespaced:
            return ""
        if self.namespace and namespace not in ("", self.namespace):
            raise BadRequest(f'{what}: this client is bound to namespace "{self.namespace}", not "{namespace}"')
        return namespace or self.namespace

    async def send(self, request: Request, gvk: GroupVersionKind, subresource: str = "") -> Response:
        """Ask about a kind; NoKindMatch if the server does not serve it."""
        try:
            return await self.transport.send(request)
        except NotFound as error:
            raise self._explained(error, gvk, subresource) from None

    async def open(self, request: Request, gvk: GroupVersionKind, subresource: str = "") -> Stream:
        """Ask for a stream about a kind; NoKindMatch if the server does not serve it."""
        try:
            return await self.transport.open(request)
        except NotFound as error:
            raise self._explained(error, gvk, subresource) from None

    def decoded(self, what: str, decode: Callable[[memoryview], T], body: memoryview) -> T:
        """What the server sent, in Python; UnexpectedAnswer if it does not fit."""
        try:
            return decode(body)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(f"{what}: what the server sent does not fit the type: {error}") from None

    def _explained(self, error: NotFound, gvk: GroupVersionKind, subresource: str) -> NotFound | NoKindMatch:
        """An object that is not there is named in the details; a kind, or an API, that is not served is not."""
        details = error.status.details
        if details is not None and details.name:
            return error
        return NoKindMatch(gvk, self.transport.config.server, subresource=subresource)


def described(verb: str, kind: str, namespace: str, name: str, subresource: str = "") -> str:
    """What is being done, for errors: `patch Deployment default/web status`."""
    place = f"{namespace}/{name}" if namespace else name
    return f"{verb} {kind} {place} {subresource}" if subresource else f"{verb} {kind} {place}"
