"""Lifecycle: from a key to a call of `reconcile` or `finalize`, with the finalizer set before and taken away after.

An object whose reconciler has something to finalize carries its finalizer before anything is done for it, so that
nothing can be left behind; and loses it only when `finalize` has returned.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kapstan.client.interface import Kind, Object, Patch
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.cachedclient import CachedClient
from kapstan.runtime.reconcile import Outcome, Reconciler, Result

__all__ = ("Lifecycle",)


class Lifecycle:
    """Calls a reconciler about a key."""

    def __init__(
        self, reconciler: Reconciler[Any], kind: Kind[Any], client: CachedClient, finalizer: str, threads: int = 1
    ) -> None:
        self._kind, self._client, self._finalizer = kind, client, finalizer
        self._finalizes = reconciler.finalizes()
        self._by_key = reconciler.asked_by_key()
        self._reconciler = reconciler
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="reconcile")  # they start when they are needed
        self._reconcile = self._awaitable(reconciler.reconcile)
        self._finalize = self._awaitable(reconciler.finalize)

    async def __call__(self, key: ObjectKey) -> Outcome:
        if self._by_key:
            return _checked(await self._reconcile(key))
        obj: Any = await self._client.find(self._kind, key.name, key.namespace)
        if obj is None:
            return None  # gone, and what it owned goes with it
        if not self._finalizes:
            return _checked(await self._reconcile(obj))
        if _is_deleting(obj):
            return await self._end(obj)
        return _checked(await self._reconcile(await self._with_finalizer(obj)))

    async def _end(self, obj: Object) -> Outcome:
        finalizers = _finalizers(obj)
        if self._finalizer not in finalizers:
            return None  # somebody else's turn
        outcome = _checked(await self._finalize(obj))
        if outcome is None or not outcome.requeue_after:
            await self._set_finalizers(obj, [name for name in finalizers if name != self._finalizer])
        return outcome

    async def _with_finalizer(self, obj: Object) -> Object:
        finalizers = _finalizers(obj)
        if self._finalizer in finalizers:
            return obj
        return await self._set_finalizers(obj, [*finalizers, self._finalizer])

    async def _set_finalizers(self, obj: Any, finalizers: list[str]) -> Object:
        """Lists are replaced as a whole, so the server shall refuse if somebody else has changed it meanwhile."""
        metadata = {"finalizers": finalizers or None, "resourceVersion": _version(obj)}
        changed: Object = await self._client.patch(obj, Patch.merge({"metadata": metadata}))
        return changed

    def _awaitable(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """An async function as it is; a plain one so that it runs in a thread, with the log fields of its caller."""
        if inspect.iscoroutinefunction(function):
            return function

        async def in_thread(argument: Any) -> Any:
            loop = self._reconciler._loop = asyncio.get_running_loop()
            context = contextvars.copy_context()
            return await loop.run_in_executor(self._threads, context.run, function, argument)

        return in_thread


def _checked(outcome: Any) -> Outcome:
    if outcome is None or isinstance(outcome, Result):
        return outcome
    raise TypeError(f"reconcile and finalize return a Result or None, not {outcome!r}")


def _is_deleting(obj: Object) -> bool:
    if isinstance(obj, dict):
        return "deletionTimestamp" in obj["metadata"]
    return obj.deleting


def _finalizers(obj: Object) -> list[str]:
    return obj["metadata"].get("finalizers", []) if isinstance(obj, dict) else obj.metadata.finalizers


def _version(obj: Object) -> str:
    return obj["metadata"]["resourceVersion"] if isinstance(obj, dict) else obj.metadata.resource_version
