"""API: a logical cluster from inside the process, over plain dictionaries, without sockets.

It goes the same way as a request over HTTP from admission on: the same rules, the same errors. Controllers of the
server use it, and tests. Authorization is the HTTP front's business; whoever has the object may do everything, in the
name of its user.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry import verbs
from kapstan.apiserver.registry.objects import clone, decode
from kapstan.apiserver.registry.patch import PatchType
from kapstan.apiserver.registry.representation import AsObject
from kapstan.apiserver.request import LOOPBACK, DeleteOptions, ListOptions, Request, UserInfo, WriteOptions
from kapstan.machinery.errors import NotFound, from_status
from kapstan.machinery.gvk import GroupVersionKind, GroupVersionResource
from kapstan.machinery.meta import Status

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("API", "ObjectList", "WatchEvent")

Object = dict[str, Any]
Kind = ServedKind | GroupVersionKind | GroupVersionResource


class ObjectList(list[Object]):
    """The objects of a list; `resource_version` is where a watch goes on."""

    resource_version: str = ""
    continue_token: str = ""


class WatchEvent(msgspec.Struct, frozen=True):
    """One event: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class API:
    """One user's access to one logical cluster."""

    def __init__(self, cluster: LogicalCluster, user: UserInfo = LOOPBACK, agent: str = "kapstan") -> None:
        self._cluster = cluster
        self._user = user
        self._agent = agent

    def as_user(self, user: UserInfo, agent: str = "") -> API:
        """The same cluster in another name; `agent` becomes the field manager."""
        return API(self._cluster, user, agent or self._agent)

    async def get(self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "") -> Object:
        request = self._request("get", kind, namespace, name, subresource)
        return decode((await verbs.get(request)).value)

    async def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    async def list(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", limit: int = 0, token: str = ""
    ) -> ObjectList:
        options = ListOptions(label_selector=labels, field_selector=fields, limit=limit, continue_token=token)
        listed = await verbs.list_objects(self._request("list", kind, namespace), options)
        found = ObjectList(map(decode, listed.values))
        found.resource_version, found.continue_token = str(listed.revision), listed.continue_token
        return found

    async def create(self, obj: Mapping[str, Any], *, subresource: str = "", dry_run: bool = False) -> Object:
        kind, namespace, name = self._kind_of(obj), *_key_of(obj)
        if not subresource:
            name = ""
        request = self._request("create", kind, namespace, name, subresource, WriteOptions(dry_run=dry_run))
        return decode((await verbs.create(request, clone(dict(obj)))).value)

    async def update(self, obj: Mapping[str, Any], *, subresource: str = "", dry_run: bool = False) -> Object:
        request = self._request("update", self._kind_of(obj), *_key_of(obj), subresource, WriteOptions(dry_run=dry_run))
        return decode((await verbs.update(request, clone(dict(obj)))).value)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Any,
        *,
        type: PatchType = "application/merge-patch+json",
        subresource: str = "",
        force: bool = False,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        options = WriteOptions(force=force, field_manager=field_manager or self._agent, dry_run=dry_run)
        request = self._request("patch", kind, namespace, name, subresource, options)
        return decode((await verbs.patch(request, type, patch)).value)

    async def apply(self, obj: Mapping[str, Any], *, subresource: str = "", force: bool = True) -> Object:
        """Server-side apply."""
        namespace, name = _key_of(obj)
        kind = self._kind_of(obj)
        return await self.patch(
            kind, name, namespace, obj, type="application/apply-patch+yaml", subresource=subresource, force=force
        )

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Object:
        """The object, if it is only marked, or the Status that says it is gone."""
        request = self._request("delete", kind, namespace, name, options=options or DeleteOptions())
        return decode((await verbs.delete(request)).value)

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        options: DeleteOptions | None = None,
    ) -> None:
        request = self._request("deletecollection", kind, namespace, options=options or DeleteOptions())
        await verbs.delete_collection(request, ListOptions(label_selector=labels, field_selector=fields))

    @asynccontextmanager
    async def watch(
        self, kind: Kind, namespace: str = "", *, options: ListOptions | None = None
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """`async with api.watch(kind) as events:`; an ERROR of the server is raised as what it is."""
        watch = verbs.watch(self._request("watch", kind, namespace), options or ListOptions(), AsObject())
        sink = _EventSink()
        # Not a TaskGroup: it would wrap what the caller's own block raises.
        task = asyncio.create_task(watch.run(sink))
        task.add_done_callback(lambda _: sink.end())
        await asyncio.sleep(0)  # it watches before the block begins
        try:
            yield sink.events()
        finally:
            task.cancel()
            await asyncio.wait((task,))

    def _request(
        self,
        verb: str,
        kind: Kind,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        options: WriteOptions | DeleteOptions | None = None,
    ) -> Request:
        return Request(
            self._cluster,
            self._user,
            verb,
            self._served(kind),
            namespace=namespace,
            name=name,
            subresource=subresource,
            options=options,
            user_agent=self._agent,
        )

    def _kind_of(self, obj: Mapping[str, Any]) -> ServedKind:
        return self._served(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))

    def _served(self, kind: Kind) -> ServedKind:
        if isinstance(kind, ServedKind):
            return kind
        kinds = self._cluster.kinds
        found = kinds.resource(kind) if isinstance(kind, GroupVersionResource) else kinds.kind(kind)
        if found is None:
            raise NotFound(f"the server does not serve {kind}")
        return found


def _key_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return metadata.get("namespace") or "", metadata.get("name") or ""


class _EventSink:
    """Frames become events again."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    @property
    def ready(self) -> bool:
        """A reader in the same process is given all the room it needs."""
        return True

    def write(self, data: bytes) -> None:
        self._frames.extend(data.splitlines())
        self._changed.set()

    async def send(self, data: bytes) -> None:
        self.write(data)

    def abort(self) -> None:
        self.end()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    async def events(self) -> AsyncIterator[WatchEvent]:
        while True:
            while self._frames:
                event = msgspec.json.decode(self._frames.popleft(), type=WatchEvent)
                if event.type == "ERROR":
                    raise from_status(msgspec.convert(event.object, Status))
                yield event
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()
