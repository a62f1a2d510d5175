"""LiveReader: reads straight from the API server: one object, lists, pages of lists, watches.

Every read names its kind as a class (typed objects), as a GroupVersionKind (dictionaries) or as `metadata_of(...)`.
The `raw` reads leave objects as JSON: that is what caches are filled with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar, Unpack, overload

from kapstan.client.interface import Kind, MetadataOf, ObjectList, PartialObjectMetadata, Unstructured
from kapstan.client.options import ListOptions, SelectOptions, WatchOptions, list_query, watch_query
from kapstan.client.session import Session, described
from kapstan.client.shapes import RawList, Shape, shape_of
from kapstan.client.stream import Stream
from kapstan.client.transport import Request, Response
from kapstan.client.watch import RawWatch, Watch
from kapstan.machinery.codec import decode
from kapstan.machinery.errors import Expired, NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource

__all__ = ("LiveReader",)

R = TypeVar("R", bound=Resource)


class LiveReader(Session):
    """Reads from the API server, every time."""

    @overload
    async def get(self, kind: type[R], name: str, namespace: str = "", *, subresource: str = "") -> R: ...
    @overload
    async def get(
        self, kind: GroupVersionKind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Unstructured: ...
    @overload
    async def get(
        self, kind: MetadataOf, name: str, namespace: str = "", *, subresource: str = ""
    ) -> PartialObjectMetadata: ...
    async def get(self, kind: Kind[Any], name: str, namespace: str = "", *, subresource: str = "") -> Any:
        """One object, or a part of it; NotFound if there is none. A part of another kind is got as a dictionary."""
        shape, mapping = shape_of(kind), await self.mapping(kind)
        what = described("get", mapping.gvk.kind, namespace or self.namespace, name, subresource)
        namespace = self.scope(mapping, namespace, what=what)
        path = mapping.object(namespace, name, subresource)
        request = Request(method="GET", path=path, what=what, accept=shape.accept, idempotent=True)
        answer = await self.send(request, mapping.gvk, subresource)
        return self.decoded(what, shape.one, answer.body)

    @overload
    async def find(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    async def find(self, kind: GroupVersionKind, name: str, namespace: str = "") -> Unstructured | None: ...
    @overload
    async def find(self, kind: MetadataOf, name: str, namespace: str = "") -> PartialObjectMetadata | None: ...
    async def find(self, kind: Any, name: str, namespace: str = "") -> Any:
        """One object, or None if there is none."""
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    @overload
    async def list(self, kind: type[R], namespace: str = "", **options: Unpack[ListOptions]) -> ObjectList[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind, namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[Unstructured]: ...
    @overload
    async def list(
        self, kind: MetadataOf, namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[PartialObjectMetadata]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **options: Unpack[ListOptions]) -> Any:
        """The objects of a kind, in one namespace or (where it is empty) in all. With `limit`, the first so many."""
        shape = shape_of(kind)
        what, answer = await self._list(kind, shape, namespace, options)
        return self.decoded(what, shape.many, answer.body)

    async def list_raw(self, kind: Kind[Any], namespace: str = "", **options: Unpack[ListOptions]) -> RawList:
        """As `list`, with the items left as JSON."""
        what, answer = await self._list(kind, shape_of(kind), namespace, options)
        return self.decoded(what, lambda body: decode(body, RawList), answer.body)

    @overload
    def iterate(
        self, kind: type[R], namespace: str = "", *, page_size: int = 500, **options: Unpack[SelectOptions]
    ) -> AsyncIterator[R]: ...
    @overload
    def iterate(
        self, kind: GroupVersionKind, namespace: str = "", *, page_size: int = 500, **options: Unpack[SelectOptions]
    ) -> AsyncIterator[Unstructured]: ...
    @overload
    def iterate(
        self, kind: MetadataOf, namespace: str = "", *, page_size: int = 500, **options: Unpack[SelectOptions]
    ) -> AsyncIterator[PartialObjectMetadata]: ...
    async def iterate(
        self, kind: Any, namespace: str = "", *, page_size: int = 500, **options: Unpack[SelectOptions]
    ) -> AsyncIterator[Any]:
        """The objects of a kind, however many there are: read page by page.

        All are of one moment, unless reading takes so long (five minutes) that the server has forgotten it; what is
        left then is of a later one.
        """
        token = ""
        while True:
            try:
                page = await self.list(kind, namespace, limit=page_size, continue_token=token, **options)
            except Expired as error:
                token = error.status.metadata.continue_
                if not token:
                    raise
                continue
            for obj in page:
                yield obj
            token = page.continue_token
            if not token:
                return

    @overload
    def watch(self, kind: type[R], namespace: str = "", **options: Unpack[WatchOptions]) -> Watch[R]: ...
    @overload
    def watch(
        self, kind: GroupVersionKind, namespace: str = "", **options: Unpack[WatchOptions]
    ) -> Watch[Unstructured]: ...
    @overload
    def watch(
        self, kind: MetadataOf, namespace: str = "", **options: Unpack[WatchOptions]
    ) -> Watch[PartialObjectMetadata]: ...
    def watch(self, kind: Kind[Any], namespace: str = "", **options: Unpack[WatchOptions]) -> Any:
        """What happens to the objects of a kind, in one namespace or in all. It connects when it is first used."""
        raw = self.watch_raw(kind, namespace, **options)
        return Watch(raw, shape_of(kind), raw.what, options.get("resource_version", ""))

    def watch_raw(self, kind: Kind[Any], namespace: str = "", **options: Unpack[WatchOptions]) -> RawWatch:
        """As `watch`, with the objects left as JSON."""
        shape = shape_of(kind)
        what = f"watch {shape.gvk.kind}"

        async def open() -> Stream:
            mapping = await self.mapping(kind)
            path = mapping.collection(self.scope(mapping, namespace, what=what)) + watch_query(options)
            request = Request(method="GET", path=path, what=what, accept=shape.accept, idempotent=True)
            return await self.open(request, mapping.gvk)

        return RawWatch(open, what)

    async def _list(self, kind: Kind[Any], shape: Shape, namespace: str, options: ListOptions) -> tuple[str, Response]:
        mapping = await self.mapping(kind)
        what = f"list {mapping.gvk.kind}"
        path = mapping.collection(self.scope(mapping, namespace, what=what)) + list_query(options)
        request = Request(method="GET", path=path, what=what, accept=shape.accept_list, idempotent=True)
        return what, await self.send(request, mapping.gvk)
