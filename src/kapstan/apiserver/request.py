"""Request: one API request as every part of the server sees it, whoever sent it and however it came.

The HTTP front and the in-process API both make Requests, so authorization, admission, strategies and the registry
cannot tell them apart. A Request lives as long as its answer takes; `now` is one instant for all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.kinds import ServedKind
    from kapstan.apiserver.strategy.base import Strategy

__all__ = (
    "ANONYMOUS",
    "LOOPBACK",
    "Attributes",
    "DeleteOptions",
    "ListOptions",
    "Preconditions",
    "Request",
    "UserInfo",
    "WriteOptions",
)

_NO_EXTRA: Mapping[str, tuple[str, ...]] = {}


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks: what an authenticator found out, and what admission webhooks are told."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = _NO_EXTRA


ANONYMOUS = UserInfo("system:anonymous", groups=("system:unauthenticated",))
# The server itself, in process. `system:masters` passes every authorizer.
LOOPBACK = UserInfo("system:apiserver", groups=("system:authenticated", "system:masters"))


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What an authorizer decides about. `path` is the whole URL path; where `resource` is empty, it is all there is."""

    user: UserInfo
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""

    def of(self, user: UserInfo) -> Attributes:
        """The same, asked by somebody else."""
        return msgspec.structs.replace(self, user=user)


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """CreateOptions, UpdateOptions and PatchOptions in one: they differ only in `force`."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: Literal["", "Ignore", "Warn", "Strict"] = ""
    force: bool = False


class Preconditions(msgspec.Struct, frozen=True):
    """What must hold for a deletion to happen; None asks for nothing."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to delete, from the body or the query."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to list or watch, from the query."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None


class Request:
    """One request to one kind of one logical cluster."""

    __slots__ = (
        "applies",
        "cluster",
        "kind",
        "name",
        "namespace",
        "now",
        "options",
        "path",
        "subresource",
        "user",
        "user_agent",
        "verb",
        "warnings",
    )

    def __init__(
        self,
        cluster: LogicalCluster,
        user: UserInfo,
        verb: str,
        kind: ServedKind,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        options: WriteOptions | DeleteOptions | None = None,
        user_agent: str = "",
        path: str = "",
        now: datetime | None = None,
    ) -> None:
        self.applies = False  # whether this is a server-side apply
        self.cluster = cluster
        self.user = user
        self.verb = verb  # get, list, watch, create, update, patch, delete, deletecollection
        self.kind = kind
        self.namespace = namespace  # "" for cluster-scoped kinds and for requests across namespaces
        self.name = name  # "" for collections, and for creates that let the server choose
        self.subresource = subresource  # "status", "scale", ...; "" for the object itself
        self.options: WriteOptions | DeleteOptions = options if options is not None else WriteOptions()
        self.user_agent = user_agent
        self.path = path
        self.now = now or datetime.now(UTC)
        self.warnings: list[str] = []  # become `Warning: 299` headers, each once

    @property
    def dry_run(self) -> bool:
        return self.options.dry_run

    @property
    def strategy(self) -> Strategy:
        """The hooks of the endpoint: the kind's own, or the subresource's."""
        if not self.subresource:
            return self.kind.strategy
        return self.kind.subresources[self.subresource].strategy or self.kind.strategy

    @property
    def key(self) -> str:
        """Where the object is in the storage."""
        return self.kind.storage.key(self.namespace, self.name)

    def warn(self, text: str) -> None:
        """Tell the client something that it should know, without refusing."""
        if text not in self.warnings:
            self.warnings.append(text)

    @property
    def timestamp(self) -> str:
        """`now` as objects carry it: whole seconds, UTC."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def attributes(self) -> Attributes:
        """What authorizers see."""
        return self.attributes_for(self.verb)

    def attributes_for(self, verb: str) -> Attributes:
        """What authorizers would see if it were another verb."""
        group, version, resource = self.kind.gvr
        return Attributes(
            user=self.user,
            verb=verb,
            group=group,
            version=version,
            resource=resource,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
            path=self.path,
        )
