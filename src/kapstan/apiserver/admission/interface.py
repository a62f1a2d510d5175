"""Admission: what may change or refuse a write between authorization and storage.

Plugins run in order. First every `admit`, each seeing what those before it made of the object; then, after the kind's
own validation, every `validate`, which may only refuse. A refusal is an APIError, usually Forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.kinds import ServedKind
    from kapstan.apiserver.request import Request, UserInfo

__all__ = ("Admission", "AdmissionAttributes", "Chain", "Operation", "Plugin", "Targets")

Object = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class AdmissionAttributes(msgspec.Struct, kw_only=True, eq=False):
    """One write under admission. `object` may be changed or replaced in `admit`; it is None for DELETE."""

    request: Request
    operation: Operation
    object: Object | None
    old: Object | None
    options: Object = {}  # CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as AdmissionReview carries them
    name: str = ""  # "" while `generateName` has not been used yet

    @property
    def kind(self) -> ServedKind:
        return self.request.kind

    @property
    def namespace(self) -> str:
        return self.request.namespace

    @property
    def subresource(self) -> str:
        return self.request.subresource

    @property
    def user(self) -> UserInfo:
        return self.request.user

    @property
    def dry_run(self) -> bool:
        return self.request.dry_run


class Targets(msgspec.Struct, frozen=True):
    """Which writes a plugin has to do with."""

    operations: tuple[Operation, ...]
    resources: tuple[GroupResource, ...]
    subresources: tuple[str, ...] = ("",)  # "" is the object itself

    def __contains__(self, attributes: AdmissionAttributes) -> bool:
        return (
            attributes.operation in self.operations
            and attributes.kind.gvr.group_resource in self.resources
            and attributes.subresource in self.subresources
        )


class Plugin:
    """One admission plugin; both steps do nothing unless overridden."""

    targets: Targets | None = None  # None: every write, unless `handles` says otherwise
    comes_last = False  # whether it validates after the webhooks

    @property
    def name(self) -> str:
        """kube-apiserver's name for it."""
        return type(self).__name__.removesuffix("Admission")

    def handles(self, attributes: AdmissionAttributes) -> bool:
        """Whether either step has anything to do with this write."""
        return self.targets is None or attributes in self.targets

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Change `attributes.object`, or raise."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raise, or let it pass. The object must not be changed."""


class Admission(Protocol):
    """What the registry calls; `Chain` is the implementation."""

    async def admit(self, attributes: AdmissionAttributes) -> None: ...

    async def validate(self, attributes: AdmissionAttributes) -> None: ...


class Chain:
    """Plugins in order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        for plugin in self.plugins:
            if plugin.handles(attributes):
                await plugin.admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        for plugin in self.plugins:
            if plugin.handles(attributes):
                await plugin.validate(attributes)
