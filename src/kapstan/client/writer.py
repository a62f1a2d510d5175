"""LiveWriter: writes to the API server: create, patch, apply, delete, and edits that become the smallest patch.

A typed object is never sent as a whole over an existing one: it does not know every field, and a PUT would erase what
it does not know. `update` is for dictionaries.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, TypeVar, Unpack, overload

import msgspec

from kapstan.client.applying import apply_body
from kapstan.client.diffing import merge_patch_between
from kapstan.client.interface import (
    Kind,
    MetadataOf,
    Object,
    PartialObjectMetadata,
    Patch,
    Propagation,
    Unstructured,
)
from kapstan.client.mapping import Mapping
from kapstan.client.options import (
    SelectOptions,
    WriteArguments,
    WriteOptions,
    field_selector,
    label_selector,
    query,
    write_query,
)
from kapstan.client.session import Session, described
from kapstan.client.shapes import Shape, TypedShape, shape_of, shape_of_object
from kapstan.client.transport import Request
from kapstan.machinery.codec import decode, encode, to_builtins
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.meta import DeleteOptions, Preconditions
from kapstan.machinery.model import Resource

__all__ = ("LiveWriter", "key_of")

R = TypeVar("R", bound=Resource)

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


class Target(NamedTuple):
    """Where a write goes."""

    mapping: Mapping
    key: ObjectKey


class LiveWriter(Session):
    """Writes to the API server."""

    @overload
    async def create(self, obj: R, *, parent: Object | None = None, **arguments: Unpack[WriteArguments]) -> R: ...
    @overload
    async def create(
        self, obj: Unstructured, *, parent: Object | None = None, **arguments: Unpack[WriteArguments]
    ) -> Unstructured: ...
    async def create(self, obj: Any, *, parent: Object | None = None, **arguments: Unpack[WriteArguments]) -> Any:
        """Create; AlreadyExists if it is there. What the server made of it is returned.

        A subresource that is created is sent to its `parent`: `create(TokenRequest(), parent=account,
        subresource="token")`.
        """
        target = await self._target(parent or obj)
        request = Request(method="POST", path="", body=encode(obj))
        return await self._write("create", request, shape_of_object(obj), target, arguments)

    async def update(self, obj: Unstructured, **arguments: Unpack[WriteArguments]) -> Unstructured:
        """Replace a whole object (PUT); dictionaries only, for they lose nothing on the way."""
        if not isinstance(obj, dict):
            raise TypeError(
                f"update takes dictionaries only: a {type(obj).__name__} is written with edit, patch or apply"
            )
        request = Request(method="PUT", path="", body=encode(obj))
        target = await self._target(obj)
        updated: Unstructured = await self._write("update", request, shape_of_object(obj), target, arguments)
        return updated

    @overload
    async def patch(self, obj: R, patch: Patch, **arguments: Unpack[WriteArguments]) -> R: ...
    @overload
    async def patch(self, obj: Unstructured, patch: Patch, **arguments: Unpack[WriteArguments]) -> Unstructured: ...
    async def patch(self, obj: Any, patch: Patch, **arguments: Unpack[WriteArguments]) -> Any:
        """Change the object that has `obj`'s kind and name; what it is now is returned."""
        return await self._write("patch", _patch(patch), shape_of_object(obj), await self._target(obj), arguments)

    @overload
    async def patch_named(
        self, kind: type[R], name: str, namespace: str, patch: Patch, **arguments: Unpack[WriteArguments]
    ) -> R: ...
    @overload
    async def patch_named(
        self, kind: GroupVersionKind, name: str, namespace: str, patch: Patch, **arguments: Unpack[WriteArguments]
    ) -> Unstructured: ...
    @overload
    async def patch_named(
        self, kind: MetadataOf, name: str, namespace: str, patch: Patch, **arguments: Unpack[WriteArguments]
    ) -> PartialObjectMetadata: ...
    async def patch_named(
        self, kind: Kind[Any], name: str, namespace: str, patch: Patch, **arguments: Unpack[WriteArguments]
    ) -> Any:
        """As `patch`, of an object that one has only the name of."""
        target = Target(await self.mapping(kind), ObjectKey(namespace, name))
        return await self._write("patch", _patch(patch), shape_of(kind), target, arguments)

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
        """Server-side apply: these fields are ours and shall have these values. `owner` becomes its controller."""
        body = apply_body(obj, owner=owner, subresource=arguments.get("subresource", ""))
        request = Request(method="PATCH", path="", body=encode(body), content_type=_APPLY, idempotent=True)
        return await self._write(
            "apply", request, shape_of_object(obj), await self._target(obj), arguments, force=force
        )

    @overload
    def edit(
        self, obj: R, *, optimistic_lock: bool = False, **arguments: Unpack[WriteArguments]
    ) -> AbstractAsyncContextManager[R]: ...
    @overload
    def edit(
        self, obj: Unstructured, *, optimistic_lock: bool = False, **arguments: Unpack[WriteArguments]
    ) -> AbstractAsyncContextManager[Unstructured]: ...
    @asynccontextmanager
    async def edit(
        self, obj: Any, *, optimistic_lock: bool = False, **arguments: Unpack[WriteArguments]
    ) -> AsyncIterator[Any]:
        """Change a copy of an object; on leaving, what changed is sent as the smallest merge patch, if anything did.

            async with client.edit(machine, subresource="status") as draft:
                draft.status.phase = "Running"

        Afterwards the draft is what the server made of it. If the block raises, nothing is sent. With
        `optimistic_lock` it is refused with Conflict if the object has changed since it was read.
        """
        before = to_builtins(obj)
        draft = copy.deepcopy(obj) if isinstance(obj, dict) else decode(encode(obj), type(obj))
        yield draft
        changes = merge_patch_between(before, draft, optimistic_lock=optimistic_lock)
        if arguments.get("subresource") == "status" and "status" not in changes:
            return
        if changes:
            _assign(draft, await self.patch(obj, Patch.merge(changes), **arguments))

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
        if isinstance(obj, dict | Resource):
            target = await self._target(obj)
        else:
            target = Target(await self.mapping(obj), ObjectKey(namespace, name))
        what = self._described("delete", target)
        path = target.mapping.object(self.scope(target.mapping, target.key.namespace, what=what), target.key.name)
        body = _delete_options(propagation, grace_period, uid, resource_version, dry_run or self.options.dry_run)
        request = Request(method="DELETE", path=path, what=what, body=body, idempotent=bool(uid))
        try:
            await self.send(request, target.mapping.gvk)
        except NotFound:
            if not missing_ok:
                raise

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
        mapping = await self.mapping(kind)
        what = f"delete all of {mapping.gvk.kind}"
        selected = query(
            labelSelector=label_selector(options.get("labels", "")),
            fieldSelector=field_selector(options.get("fields", "")),
        )
        path = mapping.creation(self.scope(mapping, namespace, what=what)) + selected
        body = _delete_options(propagation, grace_period, "", "", dry_run or self.options.dry_run)
        await self.send(Request(method="DELETE", path=path, what=what, body=body), mapping.gvk)

    async def _write(
        self,
        verb: str,
        request: Request,
        shape: Shape,
        target: Target,
        arguments: WriteArguments,
        *,
        force: bool = False,
    ) -> Any:
        """Send `request` to where the target is."""
        mapping, key = target
        subresource = arguments.get("subresource", "")
        if subresource == "scale" and isinstance(shape, TypedShape):
            raise TypeError("the scale of an object is another kind: use client.scale, or dictionaries")
        what = self._described(verb, target, subresource)
        namespace = self.scope(mapping, key.namespace, what=what)
        if verb == "create" and not subresource:
            path = mapping.creation(namespace)
        else:
            path = mapping.object(namespace, key.name, subresource)
        request.path = path + write_query(self._options(arguments), force)
        request.what, request.accept = what, shape.accept
        answer = await self.send(request, mapping.gvk, subresource)
        return self.decoded(what, shape.one, answer.body)

    async def _target(self, obj: Object) -> Target:
        return Target(await self.mapping_of(obj), key_of(obj))

    def _described(self, verb: str, target: Target, subresource: str = "") -> str:
        kind = target.mapping.gvk.kind
        return described(verb, kind, target.key.namespace or self.namespace, target.key.name, subresource)

    def _options(self, arguments: WriteArguments) -> WriteOptions:
        if not arguments.keys() - {"subresource"}:
            return self.options
        return WriteOptions(
            field_manager=arguments.get("field_manager", "") or self.options.field_manager,
            dry_run=arguments.get("dry_run", False) or self.options.dry_run,
            field_validation=arguments.get("field_validation") or self.options.field_validation,
        )


def key_of(obj: Object) -> ObjectKey:
    """Which object it is."""
    if isinstance(obj, dict):
        metadata = obj.get("metadata") or {}
        return ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")
    return obj.key


def _patch(patch: Patch) -> Request:
    """To set fields to values twice is to set them once; what depends on the state before is not repeated."""
    settles = patch.type == _MERGE and "resourceVersion" not in (patch.body.get("metadata") or {})
    return Request(
        method="PATCH",
        path="",
        body=encode(patch.body),
        content_type=patch.type,
        idempotent=settles or patch.type == _APPLY,
    )


def _delete_options(
    propagation: Propagation | None, grace_period: int | None, uid: str, resource_version: str, dry_run: bool
) -> bytes:
    preconditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
    return encode(
        DeleteOptions(
            api_version="v1",
            kind="DeleteOptions",
            grace_period_seconds=grace_period,
            preconditions=preconditions if uid or resource_version else None,
            propagation_policy=propagation,
            dry_run=["All"] if dry_run else [],
        )
    )


def _assign(target: Any, source: Any) -> None:
    """Make one object what the other is."""
    if isinstance(target, dict):
        target.clear()
        target.update(source)
        return
    for info in msgspec.structs.fields(target):
        setattr(target, info.name, getattr(source, info.name))
