"""Kinds: what a logical cluster serves, and how.

A ServedKind is one resource in one version; a StorageKind is what its versions have in common: one collection of
stored objects. Built-in kinds are made once and shared by every logical cluster of the process; custom kinds belong to
the cluster whose CustomResourceDefinition they come from, but equal definitions share their compiled schemas.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kapstan.machinery.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request
    from kapstan.apiserver.strategy.base import Strategy
    from kapstan.machinery.apply import FieldManager
    from kapstan.machinery.schema import Schema
    from kapstan.machinery.validation import FieldError

__all__ = ("Converter", "Handler", "Intake", "KindTable", "ServedKind", "StorageKind", "Subresource")

Object = dict[str, Any]

# Serves what is not stored: reviews, tokens, evictions, bindings. Gets the request and the decoded body (None for GET)
# and returns the object to answer with; errors are raised.
Handler = Callable[["Request", Object | None], Awaitable[Object]]


class Converter(Protocol):
    """Turns objects of one version into another; `None` conversion only renames `apiVersion`."""

    async def convert(self, objects: list[Object], to: GroupVersion) -> list[Object]:
        """The same objects in the wanted version, in order. May change the given ones."""


class Intake(Protocol):
    """What a schema does to the objects of one version: shapes them on their way in, and judges them."""

    def shape(self, obj: Object, *, applied: bool = False, converted: bool = False) -> list[str]:
        """Drop unknown fields and forbidden nulls, fill in defaults, in place; returns the paths of what was unknown.

        BadRequest if a field has a type that the server could not even read. Nulls that somebody applied stay, for
        validation to refuse: to clear a field, one leaves it out. What was converted from the stored version had
        that one's defaults, and gets no others.
        """

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> Sequence[FieldError]:
        """What the schema has against the object, or against its change from `old`."""


class StorageKind:
    """One collection of stored objects, whatever versions it is served in."""

    __slots__ = ("converter", "group_resource", "gvk", "home", "namespaced")

    def __init__(
        self,
        group_resource: GroupResource,
        gvk: GroupVersionKind,
        *,
        namespaced: bool,
        converter: Converter | None = None,
    ) -> None:
        self.group_resource = group_resource  # the key of its table in the storage
        self.gvk = gvk  # the version in which objects are stored
        self.namespaced = namespaced
        self.converter = converter  # None: all versions are equal but for `apiVersion`
        self.home: ServedKind | None = None  # the version in which objects are stored, whether it is served or not

    def key(self, namespace: str, name: str) -> str:
        """Where an object is in the table; keys sort as etcd's do, which is the order of every list."""
        return f"{namespace}/{name}" if self.namespaced else name

    def prefix(self, namespace: str) -> str:
        """What the keys of a namespace begin with; "" means all."""
        return f"{namespace}/" if namespace else ""


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """What is served below an object.

    One with a `strategy` reads and writes the parent's object (status, approval, finalize), one with a `scale` sees it
    as a number of replicas, one with a `handler` answers by itself (eviction, binding, token).
    """

    name: str
    gvk: GroupVersionKind
    verbs: tuple[str, ...]
    strategy: Any = None  # a Strategy
    scale: Any = None  # a ScaleEndpoint
    handler: Any = None  # a Handler


class ServedKind:
    """One resource, as served in one version."""

    __slots__ = (
        "_intake",
        "_schema",
        "categories",
        "custom",
        "deprecation",
        "field_manager",
        "gvk",
        "gvr",
        "handler",
        "head",
        "list_kind",
        "namespaced",
        "short_names",
        "siblings",
        "singular",
        "storage",
        "strategy",
        "subresources",
        "verbs",
    )

    def __init__(
        self,
        gvk: GroupVersionKind,
        plural: str,
        *,
        namespaced: bool,
        strategy: Strategy,
        schema: Schema | Callable[[], Schema],
        intake: Intake | Callable[[Schema], Intake],
        storage: StorageKind | None = None,
        verbs: tuple[str, ...] = (),
        singular: str = "",
        list_kind: str = "",
        short_names: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        subresources: Mapping[str, Subresource] | None = None,
        handler: Handler | None = None,
        custom: bool = False,
        deprecation: str = "",
    ) -> None:
        self.gvk = gvk
        self.gvr = GroupVersionResource(gvk.group, gvk.version, plural)
        self.namespaced = namespaced
        self.strategy = strategy
        # Functions until first used: most kinds are never asked for, and compiling them all takes seconds.
        self._schema = schema
        self._intake = intake
        self.storage = storage or StorageKind(self.gvr.group_resource, gvk, namespaced=namespaced)
        if self.storage.gvk == gvk:
            self.storage.home = self
        self.verbs = verbs
        self.singular = singular or gvk.kind.lower()
        self.list_kind = list_kind or f"{gvk.kind}List"
        self.short_names = short_names
        self.categories = categories
        self.subresources: Mapping[str, Subresource] = subresources or {}
        self.handler = handler  # for kinds that are never stored, such as SubjectAccessReview
        self.custom = custom
        self.siblings: Sequence[ServedKind] = ()  # the same kind in other versions
        self.field_manager: FieldManager | None = None  # made when the first write needs it
        self.deprecation = deprecation  # what clients are warned of when they use this version; "" if it is fine
        # How the JSON of every such object begins in storage; lists of built-in kinds leave it out of their items.
        self.head = msgspec.json.encode({"apiVersion": gvk.api_version, "kind": gvk.kind})[:-1] + b","

    @property
    def schema(self) -> Schema:
        found = self._schema
        if callable(found):
            found = self._schema = found()
        return found

    @property
    def intake(self) -> Intake:
        found = self._intake
        if callable(found):
            found = self._intake = found(self.schema)
        return found

    @property
    def stored_as_served(self) -> bool:
        """Whether objects need no conversion between this version and the storage's."""
        return self.storage.gvk == self.gvk

    def __repr__(self) -> str:
        return f"ServedKind({self.gvr.resource}.{self.gvk.api_version})"


class KindTable:
    """Every kind that a cluster serves, by resource and by kind. Built-in ones are shared, custom ones come and go."""

    def __init__(self, shared: KindTable | None = None) -> None:
        self.shared = shared
        self._by_gvr: dict[GroupVersionResource, ServedKind] = {}
        self._by_gvk: dict[GroupVersionKind, ServedKind] = {}
        self.generation = 0  # how often the table has changed
        self.documents: object = None  # what discovery and OpenAPI made of it; forgotten when it changes
        self.openapi: object = None

    def resource(self, gvr: GroupVersionResource) -> ServedKind | None:
        return self._by_gvr.get(gvr) or (self.shared.resource(gvr) if self.shared else None)

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        return self._by_gvk.get(gvk) or (self.shared.kind(gvk) if self.shared else None)

    def add(self, kind: ServedKind) -> None:
        self._by_gvr[kind.gvr] = kind
        self._by_gvk[kind.gvk] = kind
        self._changed()

    def remove(self, kind: ServedKind) -> None:
        """Stop serving it; no more than that happens to its objects."""
        if self._by_gvr.get(kind.gvr) is kind:
            del self._by_gvr[kind.gvr]
            del self._by_gvk[kind.gvk]
            self._changed()

    def _changed(self) -> None:
        self.generation += 1
        self.documents = self.openapi = None

    def versions_of(self, group_kind: GroupKind) -> list[ServedKind]:
        return [kind for kind in self if kind.gvk.group_kind == group_kind]

    def group_versions(self) -> list[GroupVersion]:
        """Every group-version with a kind in it: built-in ones first, in the server's order of preference."""
        return list(dict.fromkeys(kind.gvk.group_version for kind in self))

    def __iter__(self) -> Iterator[ServedKind]:
        if self.shared is not None:
            yield from self.shared
        yield from self._by_gvr.values()
