"""Group, version, kind and resource: how Kubernetes names types."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = (
    "GroupKind",
    "GroupResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "ObjectKey",
    "version_priority",
)


class GroupKind(NamedTuple):
    """A kind regardless of its version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """A resource (`deployments`) regardless of its version."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersion(NamedTuple):
    """What `apiVersion` says; the core group is the empty string."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """`apps/v1` or `v1`; ValueError for anything else."""
        group, slash, version = api_version.rpartition("/")
        if not version or "/" in group or (slash and not group):
            raise ValueError(f"apiVersion {api_version!r} is not of the form `group/version` or `version`")
        return cls(group, version)

    def kind(self, kind: str) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, kind)

    def resource(self, resource: str) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, resource)

    @property
    def path(self) -> str:
        """The URL prefix under which its resources are served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupVersionKind(NamedTuple):
    """A type of object."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        return cls(*GroupVersion.parse(api_version), kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    """A collection that the API serves."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.group_version}, Resource={self.resource}"


class ObjectKey(NamedTuple):
    """Which object of a kind: what a work queue holds and a reconciler is asked about."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> ObjectKey:
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts as Kubernetes orders versions, the preferred last: v1alpha1, v1beta1, v1, v2; any other text before all."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, version)
    stage = {"alpha": 1, "beta": 2, None: 3}[match[2]]
    return (stage, int(match[1]), int(match[3] or 0), version)
