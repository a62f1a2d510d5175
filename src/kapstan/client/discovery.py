"""Discovery: which kinds the API server serves, asked when it is needed and remembered.

A kind's place is found with one small request for its group and version. Everything at once (`resources`) comes from
the aggregated document where the server has it, and from the older per-version ones where it has not. What is not found
is asked for again the next time: a CRD may have been installed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from kapstan.client.errors import NoKindMatch
from kapstan.client.mapping import Mapping
from kapstan.client.transport import Request, Transport
from kapstan.machinery.codec import decode
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupKind, GroupVersion, GroupVersionKind

__all__ = ("Discovery", "ServedResource")

_AGGREGATED = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


class ServedResource(Struct, frozen=True, kw_only=True):
    """A collection that the server serves, as discovery tells it."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def mapping(self) -> Mapping:
        return Mapping(self.gvk, self.plural, self.namespaced)


class _Resource(Struct, rename="camel", kw_only=True):
    name: str
    kind: str
    namespaced: bool = False
    singular_name: str = ""
    group: str = ""
    version: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()


class _ResourceList(Struct, rename="camel"):
    resources: list[_Resource] = field(default_factory=list)


class _Versions(Struct):
    versions: list[str] = field(default_factory=list)


class _GroupVersion(Struct):
    version: str


class _Group(Struct):
    name: str
    versions: list[_GroupVersion] = field(default_factory=list)


class _GroupList(Struct):
    groups: list[_Group] = field(default_factory=list)


class _Kind(Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(Struct):
    subresource: str


class _AggregatedResource(Struct, rename="camel", kw_only=True):
    resource: str
    response_kind: _Kind | None = None
    scope: str = ""
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: list[_Subresource] = field(default_factory=list)


class _AggregatedVersion(Struct):
    version: str
    resources: list[_AggregatedResource] = field(default_factory=list)


class _Metadata(Struct):
    name: str = ""


class _AggregatedGroup(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    versions: list[_AggregatedVersion] = field(default_factory=list)


class _AggregatedList(Struct):
    items: list[_AggregatedGroup] = field(default_factory=list)


class Discovery:
    """What one API server serves."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._versions: dict[GroupVersion, dict[str, ServedResource]] = {}

    async def mapping(self, gvk: GroupVersionKind) -> Mapping:
        """Where a kind is served; NoKindMatch if it is not."""
        return (await self.find(gvk)).mapping

    async def find(self, gvk: GroupVersionKind) -> ServedResource:
        """A kind as the server serves it; NoKindMatch if it does not."""
        found = self._versions.get(gvk.group_version, {}).get(gvk.kind)
        if found is None:
            self._versions[gvk.group_version] = {
                served.gvk.kind: served for served in await self._version(gvk.group_version)
            }
            found = self._versions[gvk.group_version].get(gvk.kind)
        if found is None:
            raise NoKindMatch(gvk, self._transport.config.server)
        return found

    async def preferred(self, kind: GroupKind) -> GroupVersionKind:
        """The version that the server prefers for a kind; NoKindMatch if it serves none."""
        for served in await self.resources():  # each group's preferred version comes first
            if served.gvk.group_kind == kind:
                return served.gvk
        raise NoKindMatch(GroupVersionKind(kind.group, "any version", kind.kind), self._transport.config.server)

    async def resources(self) -> list[ServedResource]:
        """Everything that is served, each group's preferred version first. Always asked anew."""
        return [*await self._below("/api"), *await self._below("/apis")]

    async def _below(self, path: str) -> list[ServedResource]:
        answer = await self._transport.send(_get(path, accept=_AGGREGATED))
        if "as=APIGroupDiscoveryList" in answer.header("content-type"):
            return list(_aggregated(decode(answer.body, _AggregatedList)))
        found: list[ServedResource] = []
        for group_version in _listed(path, answer.body):
            found += await self._version(group_version)
        return found

    async def _version(self, group_version: GroupVersion) -> list[ServedResource]:
        try:
            answer = await self._transport.send(_get(group_version.path))
        except NotFound:
            return []
        return list(_legacy(group_version, decode(answer.body, _ResourceList)))


def _get(path: str, accept: str = "application/json") -> Request:
    return Request(method="GET", path=path, what="discover the API", accept=accept, idempotent=True)


def _listed(path: str, body: memoryview) -> list[GroupVersion]:
    if path == "/api":
        return [GroupVersion("", version) for version in decode(body, _Versions).versions]
    groups = decode(body, _GroupList).groups
    return [GroupVersion(group.name, each.version) for group in groups for each in group.versions]


def _legacy(group_version: GroupVersion, listed: _ResourceList) -> Iterator[ServedResource]:
    for resource in listed.resources:
        if "/" in resource.name:
            continue
        prefix = f"{resource.name}/"
        parts = (other.name.removeprefix(prefix) for other in listed.resources if other.name.startswith(prefix))
        yield ServedResource(
            gvk=group_version.kind(resource.kind),
            plural=resource.name,
            namespaced=resource.namespaced,
            singular=resource.singular_name or resource.kind.lower(),
            short_names=resource.short_names,
            categories=resource.categories,
            verbs=resource.verbs,
            subresources=tuple(parts),
        )


def _aggregated(listed: _AggregatedList) -> Iterator[ServedResource]:
    for group in listed.items:
        for version in group.versions:
            for resource in version.resources:
                if resource.response_kind is None:
                    continue
                yield ServedResource(
                    gvk=GroupVersionKind(group.metadata.name, version.version, resource.response_kind.kind),
                    plural=resource.resource,
                    namespaced=resource.scope == "Namespaced",
                    singular=resource.singular_resource,
                    short_names=resource.short_names,
                    categories=resource.categories,
                    verbs=resource.verbs,
                    subresources=tuple(part.subresource for part in resource.subresources),
                )
