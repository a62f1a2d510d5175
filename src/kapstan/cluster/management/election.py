"""Election: of all who would run the same providers on a cluster, one works, and another takes over when it ends.

Whether it runs in a pod or was started by hand makes no difference: they compete for the same lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kapstan.cluster.management.providers import ALL, Provider
from kapstan.runtime.background import background
from kapstan.runtime.manager import Manager

__all__ = ("NAMESPACE", "election_id", "once_elected")

NAMESPACE = "kapstan-system"
_DOMAIN = "kapstan.dev"


def election_id(providers: Collection[Provider]) -> str:
    """The name of the lease. Whoever runs other providers does not stand in the way."""
    return f"manager.{_DOMAIN}" if set(providers) == set(ALL) else f"{'-'.join(sorted(providers))}.{_DOMAIN}"


@asynccontextmanager
async def once_elected(manager: Manager, work: AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
    """Have something done from the moment that the manager is elected until the block ends."""

    async def do() -> None:
        await manager.elected.wait()
        async with work:
            await asyncio.Event().wait()

    async with background(do(), name="work of the elected"):
        yield
