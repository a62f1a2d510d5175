"""Declarations: what a controller reconciles, owns, watches and may do, said where the reconciler is.

They are plain data on the class: the manager builds the controller from them, the generator the RBAC rules.

    @controller(Memcached, owns=[Deployment], max_concurrent_reconciles=4)
    @rbac("", "pods", verbs="get;list;watch")
    class MemcachedReconciler(Reconciler[Memcached]):
        @watches(ConfigMap)
        def users_of(self, config: ConfigMap) -> Iterable[Request]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from kapstan.client.interface import Kind, gvk_of
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource
from kapstan.runtime.handler import AsyncHandler, Handler, map_to
from kapstan.runtime.predicate import PredicateFunction
from kapstan.runtime.ratelimiter import RateLimiter
from kapstan.runtime.reconcile import Reconciler
from kapstan.runtime.source import Source

__all__ = (
    "ControllerDeclaration",
    "ControllerOptions",
    "Owned",
    "Rule",
    "Watched",
    "controller",
    "declared_watches",
    "rbac",
    "watches",
)

C = TypeVar("C", bound=type[Reconciler[Any]])
F = TypeVar("F", bound=Callable[..., Any])
Names: TypeAlias = str | Sequence[str]


class ControllerOptions(Struct, frozen=True, kw_only=True):
    """How a controller works; the defaults are controller-runtime's."""

    max_concurrent_reconciles: int = 1
    reconcile_timeout: float | None = None  # seconds
    rate_limiter: Callable[[], RateLimiter] | None = None  # None: per object, 5 ms to 1000 s
    cache_sync_timeout: float = 120
    needs_leader_election: bool = True
    warm_up: bool = False  # fill the queue before the election is won
    rest: float = 0  # leave an object alone for so many times as long as its last reconcile took (1 s at most)

    def __post_init__(self) -> None:
        if self.max_concurrent_reconciles < 1:
            raise ValueError(f"max_concurrent_reconciles is at least 1, got {self.max_concurrent_reconciles}")


class Owned(Struct, frozen=True):
    """A kind whose objects wake their owner."""

    kind: Kind[Any]
    when: PredicateFunction | None = None
    every_owner: bool = False  # also owners that are not the controller


class Watched(Struct, frozen=True):
    """A kind whose objects wake others. `handler` says whom; `map_to(function)` makes one of a function."""

    kind: Kind[Any]
    handler: Handler | AsyncHandler
    when: PredicateFunction | None = None


class ControllerDeclaration(Struct, frozen=True, kw_only=True):
    """What `@controller` was given, completed."""

    kind: type[Resource] | GroupVersionKind
    name: str
    owns: tuple[Owned, ...] = ()
    watches: tuple[Watched, ...] = ()
    sources: tuple[Source, ...] = ()
    reads: tuple[Kind[Any], ...] = ()  # cached because they are read, though nobody is woken by them
    when: PredicateFunction | None = None
    event_filter: PredicateFunction | None = None  # for everything that is watched
    finalizer: str = ""
    options: ControllerOptions = ControllerOptions()


class Rule(Struct, frozen=True, kw_only=True):
    """A permission that a reconciler needs, as `@rbac` was given it."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...]
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    namespace: str = ""
    role_name: str = ""


def controller(
    kind: type[Resource] | GroupVersionKind,
    *,
    name: str = "",
    owns: Iterable[Kind[Any] | Owned] = (),
    watches: Iterable[Watched] = (),
    sources: Iterable[Source] = (),
    reads: Iterable[Kind[Any]] = (),
    when: PredicateFunction | None = None,
    event_filter: PredicateFunction | None = None,
    finalizer: str = "",
    max_concurrent_reconciles: int = 1,
    reconcile_timeout: float | None = None,
    rate_limiter: Callable[[], RateLimiter] | None = None,
    cache_sync_timeout: float = 120,
    needs_leader_election: bool = True,
    warm_up: bool = False,
    rest: float = 0,
) -> Callable[[C], C]:
    """Say what a reconciler is the controller of."""
    gvk = gvk_of(kind)
    declaration = ControllerDeclaration(
        kind=kind,
        name=name or gvk.kind.lower(),
        owns=tuple(one if isinstance(one, Owned) else Owned(one) for one in owns),
        watches=tuple(watches),
        sources=tuple(sources),
        reads=tuple(reads),
        when=when,
        event_filter=event_filter,
        finalizer=finalizer or default_finalizer(gvk, name),
        options=ControllerOptions(
            max_concurrent_reconciles=max_concurrent_reconciles,
            reconcile_timeout=reconcile_timeout,
            rate_limiter=rate_limiter,
            cache_sync_timeout=cache_sync_timeout,
            needs_leader_election=needs_leader_election,
            warm_up=warm_up,
            rest=rest,
        ),
    )

    def declare(cls: C) -> C:
        cls.__controller__ = declaration
        return cls

    return declare


def watches(kind: Kind[Any], *, when: PredicateFunction | None = None) -> Callable[[F], F]:
    """Have objects of a kind wake those that the decorated method names. It may be an `async def`."""

    def declare(method: F) -> F:
        method.__watch__ = (kind, when)  # type: ignore[attr-defined]
        return method

    return declare


def rbac(
    groups: Names = (),
    resources: Names = (),
    *,
    verbs: Names,
    resource_names: Names = (),
    urls: Names = (),
    namespace: str = "",
    role_name: str = "",
) -> Callable[[C], C]:
    """Say what a reconciler may do beyond what its declaration implies. Several names are a list, or `a;b`."""
    rule = Rule(
        groups=("",) if groups == "" else _names(groups),
        resources=_names(resources),
        verbs=_names(verbs),
        resource_names=_names(resource_names),
        urls=_names(urls),
        namespace=namespace,
        role_name=role_name,
    )
    if bool(rule.resources) == bool(rule.urls):
        raise ValueError("@rbac is about resources or about urls: give one of the two")

    def declare(cls: C) -> C:
        cls.__rbac__ = (rule, *cls.__rbac__)
        return cls

    return declare


def default_finalizer(gvk: GroupVersionKind, name: str = "") -> str:
    """`cache.example.com/finalizer`; several controllers of one kind are told apart by their names."""
    return f"{gvk.group or 'kapstan.dev'}/{f'{name}-finalizer' if name else 'finalizer'}"


def declared_watches(reconciler: Reconciler[Any]) -> list[Watched]:
    """The watches that methods of a reconciler were decorated with."""
    found: list[Watched] = []
    for attribute in sorted(set(dir(type(reconciler)))):
        declared = getattr(getattr(type(reconciler), attribute, None), "__watch__", None)
        if declared is not None:
            kind, when = declared
            found.append(Watched(kind, map_to(getattr(reconciler, attribute)), when))
    return found


def _names(names: Names) -> tuple[str, ...]:
    return tuple(part for part in names.split(";") if part) if isinstance(names, str) else tuple(names)
