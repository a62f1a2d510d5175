"""Reconciler: what an operator's author writes. It is asked about one object at a time and makes the world match it.

    class MemcachedReconciler(Reconciler[Memcached]):
        async def reconcile(self, memcached: Memcached) -> Result | None: ...
        async def finalize(self, memcached: Memcached) -> None: ...      # its presence manages a finalizer

Returning is success; raising tries again after a back-off; TerminalError does not try again. `Reconciler[Request]` is
given the key instead of the object, and asks for the object itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.model import Resource
from kapstan.runtime.status import HasStatus, StatusDraft

if TYPE_CHECKING:
    from kapstan.client.client import Client
    from kapstan.runtime.cachedclient import CachedClient
    from kapstan.runtime.declaration import ControllerDeclaration, Rule
    from kapstan.runtime.recorder import EventRecorder

__all__ = ("Outcome", "Reconciler", "Request", "Result", "TerminalError")

T = TypeVar("T")
S = TypeVar("S")

# What a reconciler is asked about.
Request: TypeAlias = ObjectKey


class TerminalError(KapstanError):
    """Trying again would fail again: the object has to change first. It is logged and counted, not retried."""


class Result(msgspec.Struct, frozen=True):
    """What is to happen next. Nothing, usually: a watch says when to look again."""

    requeue_after: float | timedelta = 0  # seconds until the object is looked at again whatever happens
    priority: int | None = None  # of that look; None: as this one

    @property
    def seconds(self) -> float:
        after = self.requeue_after
        return after.total_seconds() if isinstance(after, timedelta) else after


Outcome: TypeAlias = Result | None


class Reconciler(Generic[T]):
    """Makes the world match one object. A manager gives it what it needs when it is added."""

    # Set by @controller and @rbac.
    __controller__: ClassVar[ControllerDeclaration | None] = None
    __rbac__: ClassVar[tuple[Rule, ...]] = ()

    client: CachedClient  # reads the cache, writes to the server
    live: Client  # reads the server, too
    events: EventRecorder
    log: logging.Logger
    _loop: asyncio.AbstractEventLoop

    def reconcile(self, obj: T, /) -> Awaitable[Outcome] | Outcome:
        """Make the world match the object. An `async def`, or a plain `def`, which then runs in a thread."""
        raise NotImplementedError(f"{type(self).__qualname__} has no reconcile method")

    def finalize(self, obj: T, /) -> Awaitable[Outcome] | Outcome:
        """Undo what outlives the object. Returning a Result that asks to be called again keeps the finalizer."""
        return None

    def status(self, obj: HasStatus[S]) -> StatusDraft[S]:
        """Change the status: `async with self.status(obj) as status:`. What has changed at the end is written."""
        return StatusDraft(self.client, obj)

    def wait(self, work: Coroutine[Any, Any, S]) -> S:
        """For a plain `def reconcile`: do something asynchronous and wait for it, as `self.wait(client.get(...))`."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __getattr__(self, name: str) -> Any:
        if name in ("client", "live", "events", "log", "_loop"):
            raise AttributeError(f"{type(self).__qualname__}.{name} is there once the reconciler is added to a manager")
        raise AttributeError(f"{type(self).__qualname__!r} object has no attribute {name!r}")

    @classmethod
    def finalizes(cls) -> bool:
        """Whether the class says what to do before an object goes."""
        return cls.finalize is not Reconciler.finalize

    @classmethod
    def asked_by_key(cls) -> bool:
        """Whether `reconcile` wants the key rather than the object."""
        return cls.subject() is ObjectKey

    @classmethod
    def subject(cls) -> Any:
        """What the class is a Reconciler of; None if it does not say."""
        for base in cls.__mro__:
            for generic in getattr(base, "__orig_bases__", ()):
                origin = get_origin(generic)
                if isinstance(origin, type) and issubclass(origin, Reconciler):
                    (argument,) = get_args(generic)
                    if not isinstance(argument, TypeVar):
                        return argument
        return None


def kind_of(reconciler: type[Reconciler[Any]]) -> type[Resource] | None:
    """The kind that the class names as its subject."""
    subject = reconciler.subject()
    return subject if isinstance(subject, type) and issubclass(subject, Resource) else None
