"""Election: of all who would run a provider on a cluster, one works, and another takes over when it ends.

Each provider has a lease. Whoever runs several needs all of theirs, so that no two who have one in common work at the
same time. Whether it runs in a pod or was started by hand makes no difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kapstan.cluster.management.providers import ALL, Provider
from kapstan.runtime.background import background
from kapstan.runtime.manager import Manager

__all__ = ("NAMESPACE", "leases_of", "once_elected")

NAMESPACE = "kapstan-system"
_DOMAIN = "kapstan.dev"


def leases_of(providers: Collection[Provider]) -> tuple[str, ...]:
    """The names of the leases, in the one order in which everybody takes them."""
    return tuple(f"{provider}.{_DOMAIN}" for provider in ALL if provider in providers)


@asynccontextmanager
async def once_elected(manager: Manager, work: AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
    """Have something done from the moment that the manager is elected until the block ends."""

    async def do() -> None:
        await manager.elected.wait()
        async with work:
            await asyncio.Event().wait()

    async with background(do(), name="work of the elected"):
        yield
