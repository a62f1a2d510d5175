"""The client's interface: what can be read and written, and the values that go in and out.

Three ways to name a kind, everywhere the same:
- a class (`Deployment`): typed objects;
- a `GroupVersionKind`: plain dictionaries;
- `metadata_of(either)`: only the metadata, as `PartialObjectMetadata`.

`Reader` is implemented by the live client and by the cached one; `Writer` by the live client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, overload

from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource, resource_info

__all__ = (
    "FieldValidation",
    "Kind",
    "MetadataOf",
    "Object",
    "ObjectList",
    "PartialObjectMetadata",
    "Patch",
    "PatchType",
    "Propagation",
    "Reader",
    "Selector",
    "Unstructured",
    "WatchEvent",
    "WatchEventType",
    "Writer",
    "gvk_of",
    "metadata_of",
)

T = TypeVar("T")
R = TypeVar("R", bound=Resource)

Unstructured: TypeAlias = dict[str, Any]
Object: TypeAlias = Resource | Unstructured
# Text in kubectl's grammar, or the pairs that must be equal.
Selector: TypeAlias = str | Mapping[str, str]
Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]
PatchType: TypeAlias = Literal[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
WatchEventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class PartialObjectMetadata(Resource):
    """Any object, reduced to what every object has."""


class MetadataOf(NamedTuple):
    """Asks for the metadata only of a kind."""

    gvk: GroupVersionKind


Kind: TypeAlias = type[R] | GroupVersionKind | MetadataOf


def metadata_of(kind: type[Resource] | GroupVersionKind) -> MetadataOf:
    """Names a kind of which only the metadata is wanted: `client.list(metadata_of(Pod))`."""
    return MetadataOf(gvk_of(kind))


def gvk_of(kind: type[Resource] | GroupVersionKind | MetadataOf | Object) -> GroupVersionKind:
    """The group, version and kind of whatever names a kind, and of any object."""
    if isinstance(kind, GroupVersionKind):
        return kind
    if isinstance(kind, MetadataOf):
        return kind.gvk
    if isinstance(kind, dict):
        return GroupVersionKind.of(kind.get("apiVersion", ""), kind.get("kind", ""))
    if isinstance(kind, Resource):
        return kind.gvk
    return resource_info(kind).gvk


class ObjectList(list[T]):
    """The objects of a list, and what the server said about it."""

    __slots__ = ("continue_token", "remaining", "resource_version")

    def __init__(
        self,
        items: Iterable[T] = (),
        *,
        resource_version: str = "",
        continue_token: str = "",
        remaining: int | None = None,
    ) -> None:
        super().__init__(items)
        self.resource_version = resource_version
        self.continue_token = continue_token
        self.remaining = remaining


class WatchEvent(NamedTuple, Generic[T]):
    """Something happened to an object. An ERROR of the server is raised instead."""

    type: WatchEventType
    object: T


class Patch(NamedTuple):
    """A change to an object, in one of Kubernetes' four forms."""

    type: PatchType
    body: Any

    @classmethod
    def json(cls, operations: list[dict[str, Any]]) -> Patch:
        """RFC 6902: a list of operations."""
        return cls("application/json-patch+json", operations)

    @classmethod
    def merge(cls, changes: Mapping[str, Any]) -> Patch:
        """RFC 7386: null removes, lists are replaced."""
        return cls("application/merge-patch+json", changes)

    @classmethod
    def strategic(cls, changes: Mapping[str, Any]) -> Patch:
        """Kubernetes' merge, which knows the keys of lists; built-in kinds only."""
        return cls("application/strategic-merge-patch+json", changes)

    @classmethod
    def diff(cls, before: Object, after: Object, *, optimistic_lock: bool = False) -> Patch:
        """The smallest merge patch that leads from one to the other.

        With `optimistic_lock` it is refused with Conflict if the object has changed since `before` was read.
        """
        from kapstan.client.diffing import merge_patch_between

        return cls("application/merge-patch+json", merge_patch_between(before, after, optimistic_lock=optimistic_lock))


class Reader(Protocol):
    """Reads objects, from the API server or from a cache of it."""

    @overload
    async def get(self, kind: type[R], name: str, namespace: str = "") -> R: ...
    @overload
    async def get(self, kind: GroupVersionKind, name: str, namespace: str = "") -> Unstructured: ...
    @overload
    async def get(self, kind: MetadataOf, name: str, namespace: str = "") -> PartialObjectMetadata: ...
    async def get(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """One object; NotFound if there is none."""

    @overload
    async def find(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    async def find(self, kind: GroupVersionKind, name: str, namespace: str = "") -> Unstructured | None: ...
    @overload
    async def find(self, kind: MetadataOf, name: str, namespace: str = "") -> PartialObjectMetadata | None: ...
    async def find(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """One object, or None if there is none."""

    @overload
    async def list(
        self, kind: type[R], namespace: str = "", *, labels: Selector = "", fields: Selector = ""
    ) -> ObjectList[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind, namespace: str = "", *, labels: Selector = "", fields: Selector = ""
    ) -> ObjectList[Unstructured]: ...
    @overload
    async def list(
        self, kind: MetadataOf, namespace: str = "", *, labels: Selector = "", fields: Selector = ""
    ) -> ObjectList[PartialObjectMetadata]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", *, labels: Selector = "", fields: Selector = "") -> Any:
        """The objects of a kind, in one namespace or (where it is empty) in all."""


class Writer(Protocol):
    """Writes objects. A typed object is never sent as a whole over an existing one: only patches and applies are."""

    @overload
    async def create(
        self,
        obj: R,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> R: ...
    @overload
    async def create(
        self,
        obj: Unstructured,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Unstructured: ...
    async def create(
        self,
        obj: Any,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Any:
        """Create; AlreadyExists if it is there. What the server made of it is returned."""

    async def update(
        self,
        obj: Unstructured,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Unstructured:
        """Replace a whole object (PUT); dictionaries only, for they lose nothing on the way."""

    @overload
    async def patch(
        self,
        obj: R,
        patch: Patch,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> R: ...
    @overload
    async def patch(
        self,
        obj: Unstructured,
        patch: Patch,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Unstructured: ...
    async def patch(
        self,
        obj: Any,
        patch: Patch,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Any:
        """Change the object that has `obj`'s kind and name; what it is now is returned."""

    @overload
    async def apply(
        self,
        obj: R,
        *,
        owner: Resource | None = None,
        field_manager: str = "",
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> R: ...
    @overload
    async def apply(
        self,
        obj: Unstructured,
        *,
        owner: Resource | None = None,
        field_manager: str = "",
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Unstructured: ...
    async def apply(
        self,
        obj: Any,
        *,
        owner: Resource | None = None,
        field_manager: str = "",
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> Any:
        """Server-side apply: these fields are ours and shall have these values. `owner` becomes its controller."""

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

    async def delete_all_of(
        self,
        kind: Kind[Any],
        namespace: str = "",
        *,
        labels: Selector = "",
        fields: Selector = "",
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete every object that matches, in one request."""
