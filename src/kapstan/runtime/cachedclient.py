"""CachedClient: reads from the cache, writes to the API server, and reads what it has written.

A reconciler that writes and then reads sees its own write, although the watch may be behind. Applying what is already
so sends nothing. Kinds in `uncached` are read live; so is whatever asks for pages or versions.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar, Unpack, overload

import msgspec

from kapstan.client.applying import apply_body
from kapstan.client.client import Client
from kapstan.client.interface import (
    FieldValidation,
    Kind,
    MetadataOf,
    Object,
    ObjectList,
    PartialObjectMetadata,
    Propagation,
    Unstructured,
    gvk_of,
)
from kapstan.client.options import ListOptions, SelectOptions, WriteArguments
from kapstan.client.reader import LiveReader
from kapstan.client.session import described
from kapstan.client.transport import Request, Response
from kapstan.client.writer import key_of
from kapstan.machinery.codec import encode
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.model import Resource
from kapstan.runtime.applied import Applied, AppliedKey
from kapstan.runtime.cache import Cache
from kapstan.runtime.informer import SharedInformer
from kapstan.runtime.lister import field_selector, label_selector

__all__ = ("CachedClient",)

R = TypeVar("R", bound=Resource)


class CachedClient(Client):
    """A client whose reads come from a cache. `live` is the same one without."""

    def __init__(self, live: Client, cache: Cache, *, uncached: Collection[Kind[Any]] = ()) -> None:
        LiveReader.__init__(self, live.transport, live.discovery, options=live.options, namespace=live.namespace)
        self.live = live
        self.cache = cache
        self._uncached = frozenset(gvk_of(kind) for kind in uncached)
        self._applied = Applied()

    def with_options(
        self,
        *,
        field_manager: str = "",
        dry_run: bool = False,
        namespace: str = "",
        field_validation: FieldValidation | None = None,
    ) -> CachedClient:
        live = self.live.with_options(
            field_manager=field_manager, dry_run=dry_run, namespace=namespace, field_validation=field_validation
        )
        view = CachedClient(live, self.cache)
        view._uncached, view._applied = self._uncached, self._applied
        return view

    # --- Reading ----------------------------------------------------------------------------------------------------

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
    async def get(self, kind: Any, name: str, namespace: str = "", *, subresource: str = "") -> Any:
        """One object; NotFound if there is none."""
        if subresource or self._is_live(kind):
            return await self.live.get(kind, name, namespace, subresource=subresource)
        return await self.cache.get(kind, await self._key(kind, name, namespace))

    @overload
    async def find(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    async def find(self, kind: GroupVersionKind, name: str, namespace: str = "") -> Unstructured | None: ...
    @overload
    async def find(self, kind: MetadataOf, name: str, namespace: str = "") -> PartialObjectMetadata | None: ...
    async def find(self, kind: Any, name: str, namespace: str = "") -> Any:
        """One object, or None if there is none."""
        if self._is_live(kind):
            return await self.live.find(kind, name, namespace)
        return await self.cache.find(kind, await self._key(kind, name, namespace))

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
    async def list(self, kind: Any, namespace: str = "", **options: Unpack[ListOptions]) -> Any:
        """The objects of a kind that match, in one namespace or (where it is empty) in all."""
        if self._is_live(kind) or options.keys() - SelectOptions.__annotations__.keys():
            return await self.live.list(kind, namespace, **options)
        key = await self._key(kind, "", namespace)
        return await self.cache.list(
            kind, key.namespace, labels=options.get("labels", ""), fields=options.get("fields", "")
        )

    def _is_live(self, kind: Kind[Any]) -> bool:
        return gvk_of(kind) in self._uncached

    async def _key(self, kind: Kind[Any], name: str, namespace: str) -> ObjectKey:
        mapping = await self.mapping(kind)
        what = described("get", mapping.gvk.kind, namespace, name) if name else f"list {mapping.gvk.kind}"
        return ObjectKey(self.scope(mapping, namespace, what=what), name)

    # --- Writing ----------------------------------------------------------------------------------------------------

    async def send(self, request: Request, gvk: GroupVersionKind, subresource: str = "") -> Response:
        """Every request passes here: what the server answers to a write is what readers see from now on."""
        response = await super().send(request, gvk, subresource)
        if request.method != "GET" and not _is_dry_run(request):
            informers = self.cache.factory.of(gvk)
            if informers and _kind_of(response.body) == gvk.kind:
                data = bytes(response.body)
                for informer in informers:
                    informer.wrote(data)
        return response

    @overload
    async def apply(
        self, obj: R, *, owner: Resource | None = None, force: bool = True, **arguments: Unpack[WriteArguments]
    ) -> R: ...
    @overload
    async def apply(
        self,
        obj: Unstructured,
        *,
        owner: Resource | None = None,
        force: bool = True,
        **arguments: Unpack[WriteArguments],
    ) -> Unstructured: ...
    async def apply(
        self, obj: Any, *, owner: Resource | None = None, force: bool = True, **arguments: Unpack[WriteArguments]
    ) -> Any:
        """Server-side apply: these fields are ours and shall have these values. `owner` becomes its controller.

        If this process applied the same before and nobody has changed the object since, nothing is sent.
        """
        informer = self.cache.factory.find(gvk_of(obj))
        options = self._options(arguments)
        if informer is None or not informer.synced or options.dry_run:
            return await super().apply(obj, owner=owner, force=force, **arguments)
        subresource = arguments.get("subresource", "")
        body = encode(apply_body(obj, owner=owner, subresource=subresource))
        where = await self._key(gvk_of(obj), *reversed(key_of(obj)))
        key = AppliedKey(where, options.field_manager, subresource)
        unchanged = self._applied.unchanged(informer, key, body)
        if unchanged is not None:
            return unchanged.decode(gvk_of(obj) if isinstance(obj, dict) else type(obj))
        applied = await super().apply(obj, owner=owner, force=force, **arguments)
        self._applied.remember(informer, key, body, _version_of(applied))
        return applied

    async def delete(
        self,
        obj: Object | Kind[Any],
        name: str = "",
        namespace: str = "",
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        missing_ok: bool = True,
    ) -> None:
        """Delete an object, given as such or by kind and name. One that is not there is fine unless told otherwise."""
        await super().delete(
            obj,
            name,
            namespace,
            propagation=propagation,
            grace_period=grace_period,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            missing_ok=missing_ok,
        )
        if dry_run or self.options.dry_run:
            return
        if isinstance(obj, dict | Resource):
            namespace, name = key_of(obj)
            uid = uid or _uid_of(obj)
        key = await self._key(gvk_of(obj), name, namespace)
        for informer in self.cache.factory.of(gvk_of(obj)):
            informer.deleted(key, uid)

    async def delete_all_of(
        self,
        kind: Kind[Any],
        namespace: str = "",
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
        **options: Unpack[SelectOptions],
    ) -> None:
        """Delete every object that matches, in one request; of a namespaced kind, in one namespace."""
        await super().delete_all_of(
            kind, namespace, propagation=propagation, grace_period=grace_period, dry_run=dry_run, **options
        )
        if not (dry_run or self.options.dry_run):
            place = (await self._key(kind, "", namespace)).namespace
            for informer in self.cache.factory.of(gvk_of(kind)):
                _delete_selected(informer, place, options)


def _delete_selected(informer: SharedInformer, namespace: str, options: SelectOptions) -> None:
    labels, fields = label_selector(options.get("labels", "")), field_selector(options.get("fields", ""))
    for snapshot in informer.store.select(namespace, labels, fields):
        informer.deleted(snapshot.key, snapshot.uid)


def _is_dry_run(request: Request) -> bool:
    return "dryRun=All" in request.path or (request.method == "DELETE" and b'"dryRun"' in (request.body or b""))


class _Kinded(msgspec.Struct):
    kind: str = ""


_decode_kind = msgspec.json.Decoder(_Kinded).decode


def _kind_of(body: memoryview) -> str:
    """The kind of an answer. Some are a Status, some (of a subresource) another object."""
    try:
        return _decode_kind(body).kind
    except msgspec.MsgspecError:
        return ""


def _version_of(obj: Object) -> str:
    if isinstance(obj, dict):
        return str(obj.get("metadata", {}).get("resourceVersion", ""))
    return obj.metadata.resource_version


def _uid_of(obj: Object) -> str:
    if isinstance(obj, dict):
        return str(obj.get("metadata", {}).get("uid", ""))
    return obj.metadata.uid
