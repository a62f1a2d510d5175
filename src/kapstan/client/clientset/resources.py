"""The objects of one kind, in one namespace or in all: client-go's verbs, for any class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from kapstan.client.client import Client
from kapstan.client.clientset.updating import replace
from kapstan.client.interface import ObjectList, Patch, Propagation
from kapstan.client.options import ListOptions, SelectOptions, WatchOptions
from kapstan.client.watch import Watch
from kapstan.machinery.model import Resource

if TYPE_CHECKING:
    from kapstan.k8s.autoscaling_v1 import Scale

__all__ = ("Creatable", "Resources")

R = TypeVar("R", bound=Resource)


class Creatable(Generic[R]):
    """A kind that is only ever created, such as a review: its answer is what comes back."""

    def __init__(self, client: Client, kind: type[R], namespace: str = "") -> None:
        self._client = client.with_options(namespace=namespace) if namespace else client
        self._kind = kind
        self._namespace = namespace

    async def create(self, obj: R, *, dry_run: bool = False) -> R:
        return await self._client.create(obj, dry_run=dry_run)


class Resources(Creatable[R]):
    """The objects of a kind."""

    def namespace(self, namespace: str) -> Resources[R]:
        """The same kind, in one namespace."""
        return Resources(self._client, self._kind, namespace)

    async def get(self, name: str) -> R:
        return await self._client.get(self._kind, name, self._namespace)

    async def list(self, **options: Unpack[ListOptions]) -> ObjectList[R]:
        return await self._client.list(self._kind, self._namespace, **options)

    def watch(self, **options: Unpack[WatchOptions]) -> Watch[R]:
        return self._client.watch(self._kind, self._namespace, **options)

    async def update(self, obj: R, *, field_manager: str = "", dry_run: bool = False) -> R:
        """Make the object what `obj` is; Conflict if it has changed since `obj` was read.

        What the class does not know stays as it is. An object that was made anew, without a resourceVersion, replaces
        whatever is there.
        """
        return await replace(self._client, obj, field_manager=field_manager, dry_run=dry_run)

    async def update_status(self, obj: R, *, field_manager: str = "", dry_run: bool = False) -> R:
        """Make the object's status what that of `obj` is; Conflict if it has changed since `obj` was read."""
        return await replace(self._client, obj, subresource="status", field_manager=field_manager, dry_run=dry_run)

    async def patch(
        self, name: str, patch: Patch, *, subresource: str = "", field_manager: str = "", dry_run: bool = False
    ) -> R:
        return await self._client.patch_named(
            self._kind,
            name,
            self._namespace,
            patch,
            subresource=subresource,
            field_manager=field_manager,
            dry_run=dry_run,
        )

    async def apply(self, obj: R, *, field_manager: str = "", force: bool = False, dry_run: bool = False) -> R:
        return await self._client.apply(obj, field_manager=field_manager, force=force, dry_run=dry_run)

    async def apply_status(self, obj: R, *, field_manager: str = "", force: bool = False, dry_run: bool = False) -> R:
        return await self._client.apply(
            obj, subresource="status", field_manager=field_manager, force=force, dry_run=dry_run
        )

    async def delete(
        self,
        name: str,
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> None:
        """NotFound if it is not there."""
        await self._client.delete(
            self._kind,
            name,
            self._namespace,
            propagation=propagation,
            grace_period=grace_period,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            missing_ok=False,
        )

    async def delete_collection(
        self,
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
        **options: Unpack[SelectOptions],
    ) -> None:
        await self._client.delete_all_of(
            self._kind,
            self._namespace,
            propagation=propagation,
            grace_period=grace_period,
            dry_run=dry_run,
            **options,
        )

    async def get_scale(self, name: str) -> Scale:
        return await self._client.get_scale(self._kind, name, self._namespace)

    async def update_scale(self, name: str, replicas: int) -> Scale:
        return await self._client.scale(self._kind, name, self._namespace, replicas=replicas)
