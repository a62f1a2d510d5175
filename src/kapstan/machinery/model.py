"""Resource: the base of every kind that the API serves, and ResourceInfo, which says how it is served.

A field's Python default always means *absent* (`None`, empty): encoding leaves it out. What the API server shall fill
in is a `Default(...)` marker. A decoded object belongs to whoever decoded it and may be changed freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct, field

from kapstan.machinery.base import Model
from kapstan.machinery.gvk import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource, ObjectKey
from kapstan.machinery.markers import CEL
from kapstan.machinery.meta import ObjectMeta, OwnerReference

__all__ = ("Column", "Model", "Resource", "ResourceInfo", "Scale", "Scope", "resource_info")

Scope = Literal["Namespaced", "Cluster"]


class Column(Struct, frozen=True):
    """A column of `kubectl get`."""

    name: str
    json_path: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    @classmethod
    def age(cls) -> Column:
        return cls("Age", ".metadata.creationTimestamp", "date")


class Scale(Struct, frozen=True):
    """Where `/scale` finds its numbers: JSON paths such as `.spec.replicas`."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ""


class ResourceInfo(Struct, frozen=True, kw_only=True):
    """How the API serves a kind; what `@resource` was given, completed."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    scope: Scope = "Namespaced"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    storage: bool = True
    served: bool = True
    deprecated: str | bool = False
    selectable: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    list_kind: str = ""
    rules: tuple[CEL, ...] = ()
    builtin: bool = False  # served by Kubernetes itself: there is no CRD to generate

    @property
    def namespaced(self) -> bool:
        return self.scope == "Namespaced"

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.plural)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Resource(Model):
    """An object that the API serves: what has an identity, can be read, watched and written."""

    __resource__: ClassVar[ResourceInfo]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __post_init__(self) -> None:
        if not self.kind:  # an item of a list comes without; a new object need not repeat what its class says
            info = getattr(type(self), "__resource__", None)
            if info is not None:
                self.api_version, self.kind = info.api_version, info.kind

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind.of(self.api_version, self.kind)

    @property
    def deleting(self) -> bool:
        """Marked for deletion; it goes away when its last finalizer does."""
        return self.metadata.deletion_timestamp is not None

    def controller_ref(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((ref for ref in self.metadata.owner_references if ref.controller), None)

    def is_controlled_by(self, owner: Resource) -> bool:
        ref = self.controller_ref()
        return ref is not None and ref.uid == owner.metadata.uid

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def resource_info(kind: type[Resource] | Resource) -> ResourceInfo:
    """How the API serves that type; TypeError if the class was never decorated with `@resource`."""
    cls = kind if isinstance(kind, type) else type(kind)
    info: ResourceInfo | None = getattr(cls, "__resource__", None)
    if info is None:
        raise TypeError(f"{cls.__qualname__} is not registered: decorate it with @resource(group=..., version=...)")
    return info
