"""Scheme: which class stands for which kind, and `@resource`, which registers one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from kapstan.machinery.codec import convert
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.model import Column, Resource, ResourceInfo, Scale, Scope, resource_info

__all__ = ("SCHEME", "Scheme", "pluralize", "resource")

R = TypeVar("R", bound=Resource)


class Scheme:
    """A registry of kinds. `@resource` registers in `SCHEME`, the one that is used where none is given."""

    def __init__(self) -> None:
        self._classes: dict[GroupVersionKind, type[Resource]] = {}

    def register(self, cls: type[Resource]) -> None:
        """A later class of the same kind replaces an earlier one (tests and reloads define kinds again)."""
        self._classes[resource_info(cls).gvk] = cls

    def find(self, gvk: GroupVersionKind) -> type[Resource] | None:
        return self._classes.get(gvk)

    def versions(self, group_kind: GroupKind) -> list[type[Resource]]:
        """Every registered version of a kind."""
        return [cls for gvk, cls in self._classes.items() if gvk.group_kind == group_kind]

    def typed(self, obj: dict[str, Any]) -> Resource:
        """An untyped object as its class; LookupError if its kind is not registered."""
        gvk = GroupVersionKind.of(obj.get("apiVersion", ""), obj.get("kind", ""))
        cls = self.find(gvk)
        if cls is None:
            raise LookupError(f"no class is registered for {gvk}")
        return convert(obj, cls)

    def __iter__(self) -> Iterator[type[Resource]]:
        return iter(self._classes.values())

    def __contains__(self, gvk: GroupVersionKind) -> bool:
        return gvk in self._classes


SCHEME = Scheme()


def resource(
    *,
    group: str,
    version: str,
    plural: str = "",
    singular: str = "",
    scope: Scope = "Namespaced",
    short_names: tuple[str, ...] | list[str] = (),
    categories: tuple[str, ...] | list[str] = (),
    subresources: tuple[str, ...] | None = None,
    scale: Scale | None = None,
    columns: tuple[Column, ...] | list[Column] = (),
    storage: bool = True,
    served: bool = True,
    deprecated: str | bool = False,
    selectable: tuple[str, ...] | list[str] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    builtin: bool = False,
) -> Callable[[type[R]], type[R]]:
    """Say how a kind is served, and register it.

    The kind is the class' name; a `status` field makes the status subresource.
    """

    def register(cls: type[R]) -> type[R]:
        kind = cls.__name__
        implied = ("status",) if "status" in cls.__struct_fields__ else ()
        subs = implied if subresources is None else subresources
        if scale is not None and "scale" not in subs:
            subs = (*subs, "scale")
        cls.__resource__ = ResourceInfo(
            group=group,
            version=version,
            kind=kind,
            plural=plural or pluralize(kind.lower()),
            singular=singular or kind.lower(),
            list_kind=f"{kind}List",
            scope=scope,
            short_names=tuple(short_names),
            categories=tuple(categories),
            subresources=tuple(subs),
            scale=scale,
            columns=tuple(columns),
            storage=storage,
            served=served,
            deprecated=deprecated,
            selectable=tuple(selectable),
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            builtin=builtin,
        )
        SCHEME.register(cls)
        return cls

    return register


def pluralize(singular: str) -> str:
    """Kubernetes' guess at a plural: policies, ingresses, endpoints, machines."""
    if singular.endswith("endpoints"):
        return singular
    if singular.endswith(("s", "x", "ch", "sh")):
        return singular + "es"
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return singular[:-1] + "ies"
    return singular + "s"
