"""Candidacy: whoever needs several leases has all of them or none.

They are taken in one order, the same for everybody. Whoever finds one held by another gives back those that it has:
leases that nobody can use would keep a third from its work. So of two who need one lease in common only one works,
and those who need none in common do not notice each other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from kapstan.runtime.election import LeaderElector, LeaseLost

__all__ = ("Candidacy",)

log = logging.getLogger(__name__)


class Candidacy:
    """A process that would lead: it does while it holds these leases, which have names for people."""

    def __init__(self, electors: Mapping[str, LeaderElector]) -> None:
        self._electors = electors

    @property
    def obstacle(self) -> str:
        """What keeps it from leading, as a clause; empty if nothing is known to."""
        for name, elector in self._electors.items():
            if elector.trouble:
                return f"the lease {name} cannot be taken: {elector.trouble}"
            if elector.holder and not elector.is_leader:
                return f"the lease {name} is held by {elector.holder}"
        return ""

    async def acquire(self) -> None:
        """Wait until all leases are held."""
        while (obstacle := await self._first_obstacle()) is not None:
            await self.release()
            await obstacle.until_worth_trying()
        log.info("Leader election: %s held", " and ".join(self._electors))

    async def _first_obstacle(self) -> LeaderElector | None:
        """Take one lease after the other; the first that cannot be had, or that has run out before the last was."""
        electors = self._electors.values()
        for elector in electors:
            if not await elector.attempt():
                return elector
        return next((elector for elector in electors if not elector.leads), None)

    async def hold(self, on_lost: Callable[[LeaseLost], None]) -> None:
        """Renew all leases for ever. When one is lost `on_lost` is told at once, before anything else happens."""

        async def hold(elector: LeaderElector) -> None:
            try:
                await elector.hold()
            except LeaseLost as error:
                on_lost(error)
                raise

        async with asyncio.TaskGroup() as group:
            for elector in self._electors.values():
                group.create_task(hold(elector))

    async def release(self) -> None:
        """Give all leases up that are held."""
        for elector in self._electors.values():
            await elector.release()
